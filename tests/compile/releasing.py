"""A question from its exact results to its answer, in one step."""

from discreet.compile.release import answer_from, draw_noise
from discreet.model.deadline import Deadline


def release(plan, results):
    return answer_from(plan, draw_noise(plan, results), Deadline.after(600))
