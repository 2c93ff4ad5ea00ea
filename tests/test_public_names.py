"""The public names are these; a change of this list is a change for users."""

import discreet


def test_the_public_names():
    assert discreet.__all__ == sorted(discreet.__all__, key=lambda name: (name.islower(), name))
    assert len(discreet.__all__) == 25
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None


def test_there_is_no_seed_and_no_default_epsilon():
    import inspect

    for name in discreet.__all__:
        thing = getattr(discreet, name)
        for _, member in inspect.getmembers(thing, callable):
            try:
                parameters = inspect.signature(member).parameters
            except (TypeError, ValueError):
                continue
            assert "seed" not in parameters
            for privacy in ("epsilon", "rho", "scale", "sigma_squared", "sensitivity", "neighbours"):
                if privacy in parameters:
                    assert parameters[privacy].default is inspect.Parameter.empty, (name, member)
