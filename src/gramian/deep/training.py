"""Training: mini-batches, one-cycle Adam, the frame kept beside, early stopping through the closed form [11]."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._progress import Progress
from gramian.deep._torch import Module, Tensor, torch
from gramian.deep.checkpoint import read_checkpoint, write_checkpoint
from gramian.deep.frame import RunningMoments, as_frame, exact_moments, frame_of, principal_axes
from gramian.deep.objective import Completion, Pattern, Shares, shares
from gramian.exceptions import warn

COLUMNS = ("epoch", "loss", "reconstruction", "rkm", "cross", "held_out", "seconds")


def one_cycle(step: float, total: float, warm_up: float = 0.25) -> float:
    """The share of the largest learning rate at a step (or an epoch) of a total: up from 1/25 by a cosine, then down to 1/1000.

    It rises for the share ``warm_up`` of the steps.
    """
    turn = max(warm_up * total, 1e-3)
    if step < turn:
        low, high, where = 0.04, 1.0, step / turn
    else:
        low, high, where = 1.0, 0.001, (step - turn) / max(total - turn, 1e-3)
    return float(low + (high - low) * 0.5 * (1 - np.cos(np.pi * min(where, 1.0))))


def input_noise(n_columns: int, noisy_columns: int = 64) -> float:
    """The noise that the encoder of a view sees at the largest learning rate, in mean deviations of the view.

    Nets that see few rows learn them by heart without it; it falls with the learning rate, so that the last steps are taken on the rows
    as they are. Over ``noisy_columns`` columns it averages out; views of fewer get less, in proportion.

    >>> input_noise(784), input_noise(16)
    (1.0, 0.25)
    """
    return min(1.0, n_columns / noisy_columns)


@dataclass(frozen=True)
class TrainingPlan:
    """What a training run is told.

    ``weight_decay`` is decoupled (AdamW): weights shrink by it times the learning rate per step. The loss has no scale, so only shapes are
    smoothed. The frame by which held-out rows are judged after every epoch is that of ``judged_by`` training rows.
    """

    n_components: int
    rkm_weight: float
    cross_weight: float
    frame: str
    batch_size: int
    max_epochs: int
    learning_rate: float
    early_stopping: bool
    patience: int
    seed: int
    device: str = "cpu"
    checkpoint: Any = None
    fingerprint: str = ""
    verbose: int = 0
    weight_decay: float = 0.5
    judged_by: int = 4096


@dataclass(frozen=True)
class TrainingRows:
    """Rows of all views as tensors, which views each shows (None: all), and the variance of each view."""

    views: list[Tensor]
    seen: Array | None
    variances: list[float]

    def __len__(self) -> int:
        return len(self.views[0])

    def take(self, rows: Array) -> TrainingRows:
        """The same for some rows."""
        index = torch.as_tensor(np.asarray(rows), device=self.views[0].device)
        views = [view.index_select(0, index) for view in self.views]
        return TrainingRows(views, None if self.seen is None else self.seen[rows], self.variances)

    def first(self, n: int) -> TrainingRows:
        """The same for the first n rows, without a copy."""
        views = [view[:n] for view in self.views]
        return TrainingRows(views, None if self.seen is None else self.seen[:n], self.variances)

    def patterns(self) -> list[tuple[Pattern, Any]]:
        """Which views are shown, and by which rows (None: all of them)."""
        if self.seen is None or bool(self.seen.all()):
            return [((True,) * len(self.views), None)]
        found, inverse = np.unique(self.seen, axis=0, return_inverse=True)
        device = self.views[0].device
        return [
            (tuple(bool(here) for here in shown), torch.as_tensor(np.flatnonzero(inverse.ravel() == i), device=device))
            for i, shown in enumerate(found)
        ]


@dataclass
class Run:
    """A training run: modules, optimiser, frame and history, as they stand after ``epoch`` epochs."""

    encoders: list[Module]
    decoders: list[Module]
    plan: TrainingPlan
    train: TrainingRows
    held_out: TrainingRows
    epoch: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    best: dict[str, Any] | None = None
    best_epoch: int = 0
    cooling_from: int = 0  # the epoch after which the patience had ended; 0: it has not

    def __post_init__(self) -> None:
        device = torch.device(self.plan.device)
        self.modules = torch.nn.ModuleList([*self.encoders, *self.decoders]).to(device)
        trained = [parameter for parameter in self.modules.parameters() if parameter.requires_grad]
        self.optimiser = (
            torch.optim.AdamW(
                trained,
                lr=self.plan.learning_rate,
                weight_decay=self.plan.weight_decay,
                fused=device.type in ("cpu", "cuda"),
            )
            if trained
            else None
        )
        self.widths = [int(self._one(v).shape[1]) for v in range(len(self.encoders))]
        dim = sum(self.widths)
        if self.plan.n_components > dim:
            raise ValueError(
                f"n_components={self.plan.n_components} exceeds the {dim} features of the encoders. Lower it, or raise n_features."
            )
        self.noises = [
            input_noise(x.shape[1]) * float(np.sqrt(variance / x.shape[1])) if _is_trained(encoder) else 0.0
            for encoder, x, variance in zip(self.encoders, self.train.views, self.train.variances)
        ]
        self.moments = RunningMoments(self.widths)
        self.way = as_frame(self.plan.frame, dim, self.plan.n_components)

    def _one(self, v: int) -> Tensor:
        self.modules.eval()
        with torch.no_grad():
            return self.encoders[v](self.train.views[v][:2])

    # ------------------------------------------------------------ epochs

    def go(self) -> None:
        """Train up to the last epoch, to the patience's end or to an interrupt; then the best epoch is put in place."""
        if self.plan.checkpoint is not None:
            self._resume()
        with Progress("training", total=self.plan.max_epochs, verbose=self.plan.verbose) as bar:
            try:
                while self.epoch < self._last_epoch():
                    self._one_epoch()
                    bar.step(loss=self.history["loss"][-1], held_out=self.history["held_out"][-1])
                    if self.plan.checkpoint is not None:
                        self._save()
            except KeyboardInterrupt:
                if self.best is None:
                    raise
                warn(
                    f"Training was interrupted after {self.epoch} of max_epochs={self.plan.max_epochs} epochs; the best of them "
                    f"(epoch {self.best_epoch}) is kept.",
                    ConvergenceWarning,
                )
        if self.best is not None:
            self.modules.load_state_dict(self.best)
        self.modules.eval()

    def _last_epoch(self) -> int:
        """Where training ends: when the patience has, the learning rate falls within as many epochs more."""
        plan = self.plan
        if (
            plan.early_stopping
            and not self.cooling_from
            and self.best
            and self.epoch - self.best_epoch >= plan.patience
        ):
            self.cooling_from = self.epoch
        return min(plan.max_epochs, self.cooling_from + plan.patience) if self.cooling_from else plan.max_epochs

    def _rate(self, progress: float) -> float:
        """The share of the largest learning rate after ``progress`` epochs."""
        total = self.plan.max_epochs
        if not self.cooling_from:
            return one_cycle(progress, total)
        left = max(self._last_epoch() - self.cooling_from, 1)
        gone = min((progress - self.cooling_from) / left, 1.0)
        return one_cycle(self.cooling_from, total) * max(0.5 * (1 + float(np.cos(np.pi * gone))), 0.001)

    def _one_epoch(self) -> None:
        begun = time.process_time()
        order = np.random.default_rng([self.plan.seed, self.epoch]).permutation(len(self.train))
        batches = np.array_split(order, max(1, -(-len(order) // self.plan.batch_size)))
        sums = np.zeros(3)
        self.modules.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.plan.seed + self.epoch)  # for modules that draw, such as dropout
            for i, rows in enumerate(batches):
                found = self._step(self.train.take(rows), self._rate(self.epoch + i / len(batches)))
                sums += found * (len(rows) / len(order))
        self._require_finite(sums)
        self.epoch += 1
        held_out = self.judged(self.held_out)
        self._record(sums, held_out, time.process_time() - begun)

    def _step(self, batch: TrainingRows, rate: float) -> Array:
        noisy = [
            torch.randn_like(x).mul_(rate * noise).add_(x) if noise else x for x, noise in zip(batch.views, self.noises)
        ]
        features = torch.cat([encoder(x) for encoder, x in zip(self.encoders, noisy)], dim=1)
        values = features.detach().cpu().numpy()
        self._require_finite(values)
        self.moments.update(values, batch.seen)
        axes = self.way.step(self.moments.scaled_covariance(), rate)
        found = self._shares(batch, features, Completion(frame_of(self.moments, axes), self.widths, features))
        if self.optimiser is not None:
            for group in self.optimiser.param_groups:
                group["lr"] = self.plan.learning_rate * rate
            self.optimiser.zero_grad(set_to_none=True)
            loss = found.loss(self.plan.rkm_weight, self.plan.cross_weight)
            if loss.requires_grad:
                loss.backward()
                self.optimiser.step()
        return found.numbers()

    def _require_finite(self, values: Array) -> None:
        if not np.isfinite(values).all():
            raise ValueError(
                f"Training diverged in epoch {self.epoch + 1} (features or loss are not finite). Lower learning_rate="
                f"{self.plan.learning_rate!r}, or look for extreme values in X."
            )

    def _shares(self, rows: TrainingRows, features: Tensor, completion: Completion) -> Shares:
        cross = self.plan.cross_weight > 0
        return shares(rows.views, features, rows.patterns(), completion, self.decoders, rows.variances, cross)

    def encoded(self, rows: TrainingRows) -> Tensor:
        """Features of all views, without gradients."""
        self.modules.eval()
        with torch.no_grad():
            parts = [
                torch.cat([encoder(x[start : start + 1024]) for start in range(0, len(x), 1024)])
                for encoder, x in zip(self.encoders, rows.views)
            ]
        return torch.cat(parts, dim=1)

    def judged(self, rows: TrainingRows) -> float:
        """The error of rows behind the exact principal axes of the training features: what the frozen model will do."""
        known = self.train.first(self.plan.judged_by)
        moments = exact_moments(self.encoded(known).cpu().numpy(), self.widths, known.seen)
        frame = frame_of(moments, principal_axes(moments.scaled_covariance(), self.plan.n_components))
        with torch.no_grad():
            features = self.encoded(rows)
            found = self._shares(rows, features, Completion(frame, self.widths, features))
        return float(found.loss(0.0, self.plan.cross_weight))

    def _record(self, parts: Array, held_out: float, seconds: float) -> None:
        loss = Shares(*parts).loss(self.plan.rkm_weight, self.plan.cross_weight)
        for name, value in zip(COLUMNS, (self.epoch, loss, *parts, held_out, seconds), strict=True):
            self.history[name].append(float(value) if name != "epoch" else self.epoch)
        better = self.best is None or not self.plan.early_stopping
        if better or held_out < self.history["held_out"][self.best_epoch - 1]:
            self.best = {name: value.detach().clone() for name, value in self.modules.state_dict().items()}
            self.best_epoch = self.epoch

    # ------------------------------------------------------------ checkpoints

    def _save(self) -> None:
        arrays: dict[str, Array] = {
            "moments.mean": self.moments.mean,
            "moments.covariance": self.moments.covariance,
            "moments.mass": self.moments.mass,
        }
        arrays |= {f"way.{name}": value for name, value in self.way.state().items()}
        arrays |= {f"now.{name}": value.cpu().numpy() for name, value in self.modules.state_dict().items()}
        arrays |= {f"best.{name}": value.cpu().numpy() for name, value in (self.best or {}).items()}
        adam = self.optimiser.state_dict()["state"] if self.optimiser is not None else {}
        for i, state in adam.items():
            arrays |= {f"adam.{i}.{name}": value.cpu().numpy() for name, value in state.items()}
        facts = {
            "fingerprint": self.plan.fingerprint,
            "epoch": self.epoch,
            "best_epoch": self.best_epoch,
            "cooling_from": self.cooling_from,
            "history": self.history,
        }
        write_checkpoint(self.plan.checkpoint, arrays, facts)

    def _resume(self) -> None:
        found = read_checkpoint(self.plan.checkpoint)
        if found is None:
            return
        arrays, facts = found
        if facts["fingerprint"] != self.plan.fingerprint:
            raise ValueError(
                f"checkpoint={self.plan.checkpoint!r} belongs to other rows or other settings. Delete it, or name another file."
            )
        self.epoch, self.best_epoch, self.history = facts["epoch"], facts["best_epoch"], facts["history"]
        self.cooling_from = facts["cooling_from"]
        self.moments.mean = arrays["moments.mean"]
        self.moments.covariance, self.moments.mass = arrays["moments.covariance"], arrays["moments.mass"]
        self.way.restore(_under(arrays, "way."))
        self.modules.load_state_dict(_tensors(_under(arrays, "now.")))
        self.best = _tensors(_under(arrays, "best.")) or None
        if self.optimiser is not None:
            whole = self.optimiser.state_dict()
            states: dict[int, dict[str, Tensor]] = {}
            for name, value in _tensors(_under(arrays, "adam.")).items():
                number, _, entry = name.partition(".")
                states.setdefault(int(number), {})[entry] = value
            self.optimiser.load_state_dict({**whole, "state": states})


def _is_trained(module: Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def _under(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}


def _tensors(arrays: dict[str, Array]) -> dict[str, Any]:
    return {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
