"""What many releases cost together, and how much noise one release needs.

composition: losses fixed in advance; filters: budgets that hold while questions come in; calibration: the
least noise for one (ε, δ); schedule and laws: the tightest ε of a schedule fixed in advance;
amplification: releases on a secret sample of the people; sampled_steps: the least noise for many of them.
"""
