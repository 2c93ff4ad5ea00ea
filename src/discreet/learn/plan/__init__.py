"""From the policy and a SELECT to a fitted model, and to what is said about it.

columns        the columns of a SELECT as features: numbers between bounds, or one-hot values
statements     what the database is asked for, and what its whole numbers mean
fit_plan       what a fit reads and costs; it draws the noise, and reads a stored fit
explain        what can be said before anything is spent
fitted_model   the model that an analyst gets
model_json     models as JSON, to send them to and from a service
"""
