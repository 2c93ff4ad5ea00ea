"""What happened to a number, in plain words: clamp, weigh, sum, noise."""

from dataclasses import dataclass

from discreet.answers.explanation import Explanation
from discreet.answers.wording import number_text


@dataclass(frozen=True, slots=True, kw_only=True)
class HappenedStep:
    """One step from the rows to the number."""

    name: str
    text: str


def what_happened(found: Explanation) -> list[HappenedStep]:
    """The steps of a question, from its explanation."""
    clamps = [note.split(": ", 1) for note in found.notes if "values are taken within" in note]
    weighs = [note for note in found.notes if note.startswith("A person with more than")]
    steps = []
    if clamps:
        ranges = ", ".join(
            f"{text.removeprefix('values are taken within ').rstrip('.')}" for _, text in clamps
        )
        steps.append(_step("Clamp", f"Each value was moved into its bounds: {ranges}."))
    if found.weights == "not needed":
        steps.append(_step("Weigh", "Each person has one row, so all count alike."))
    else:
        many = weighs[0] if weighs else "A person with many rows or groups was weighed down to the limits."
        steps.append(_step("Weigh", f"{many} No row was dropped at random."))
    steps.append(_step("Sum", "The weighed rows were added up, exactly, in whole numbers."))
    steps.append(_step("Noise", _noise_text(found)))
    return steps


def _noise_text(found: Explanation) -> str:
    if not found.noise.startswith("discrete"):
        return f"The result was chosen at random, the likelier the larger it is ({found.noise})."
    sizes = [
        f"{error.measure} ± {number_text(error.each, error.each)}"
        for error in found.errors
        if error.of == "value"
    ]
    sized = (
        f" It stays within {', '.join(sizes)} in {100 * found.confidence:g} cases of 100." if sizes else ""
    )
    return f"Random noise was added ({found.noise}), drawn once and kept.{sized}"


def _step(name: str, text: str) -> HappenedStep:
    return HappenedStep(name=name, text=text)
