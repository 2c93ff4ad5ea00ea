"""All routes of the API."""

from discreet.apps.server.api import datasets, people, projects, questions

PREFIX = "/api/v1"
API_ROUTES = (*questions.ROUTES, *datasets.ROUTES, *people.ROUTES, *projects.ROUTES)
