"""One epoch of clipped gradients of a logistic model by Opacus: with its loader, on batches ready-made, and
on these by ghost clipping, which holds no gradients of single rows. Its noise is included.

The model is one linear layer; a step takes 10,000 rows, all of them in memory. Without torch and Opacus there
is nothing to compare with.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCH = 10_000


def epochs(x: NDArray[np.float32], labels: NDArray[np.float32]) -> dict[str, Callable[[], None]]:
    """What to time, by name; nothing where Opacus is not installed."""
    if find_spec("torch") is None or find_spec("opacus") is None:
        return {}
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="opacus|torch")
    rows, targets = torch.from_numpy(x), torch.from_numpy(labels)
    batches = list(zip(rows.split(BATCH), targets.split(BATCH), strict=True))
    return {
        "loader": lambda: _epoch("hooks", rows, targets, None),
        "batches": lambda: _epoch("hooks", rows, targets, batches),
        "ghost": lambda: _epoch("ghost", rows, targets, batches),
    }


def _epoch(mode: str, rows: Any, targets: Any, batches: Any) -> None:
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    model = torch.nn.Sequential(torch.nn.Linear(rows.shape[1], 1), torch.nn.Flatten(0))
    loss = torch.nn.BCEWithLogitsLoss()
    made = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        criterion=loss,
        data_loader=DataLoader(TensorDataset(rows, targets), batch_size=BATCH),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        grad_sample_mode=mode,
    )
    model, optimizer, loader = made[0], made[1], made[-1]
    criterion = made[2] if mode == "ghost" else loss
    for features, labels in batches or loader:
        optimizer.zero_grad()
        criterion(model(features), labels).backward()
        optimizer.step()
