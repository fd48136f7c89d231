"""efmca learns what data is made of when its noise is not Gaussian.

It cleans images (`denoise`, `inpaint`), names noise (`noise_type`), models tables of counts, answers, fractions and
amounts (`EFMCA`), fills in their missing cells (`Imputer`), chooses the number of causes (`select`) and learns features (`learn_features`). Each data point is
explained by binary causes; where causes overlap, the strongest one wins; the observables may follow any exponential
family.

>>> import efmca
>>> import numpy as np
>>> scene = np.ones((32, 32))
>>> scene[8:24, 8:24] = 9
>>> noisy = efmca.corrupt(scene, "poisson", random_state=1)
>>> clean = efmca.denoise(noisy, "poisson", quality="fast")
>>> bool(efmca.psnr(scene, clean) > efmca.psnr(scene, noisy) + 6)
True

Names are loaded when they are first used, so that ``import efmca`` takes a millisecond.
"""

from __future__ import annotations

# type checkers take it for true; importing typing would take longer than all the rest
TYPE_CHECKING = False

_PLACES = {
    "EFMCA": "_estimator",
    "Imputer": "_impute",
    "Family": "_family",
    "families": "_family",
    "denoise": "_images",
    "inpaint": "_images",
    "corrupt": "_images",
    "psnr": "_images",
    "calibrate": "_camera",
    "Camera": "_camera",
    "ssim": "_images",
    "noise_type": "_noise",
    "select": "_noise",
    "learn_features": "_features",
    "load_model": "_estimator",
    "plot_bound": "_plots",
    "plot_choice": "_plot_results",
    "plot_components": "_plots",
    "plot_denoised": "_plot_results",
    "plot_encoding": "_plots",
    "plot_noise_ranking": "_plot_results",
    "plot_table": "_plots",
    "Denoised": "_results",
    "NoiseRanking": "_results",
    "ColumnFamilies": "_results",
    "CauseChoice": "_results",
    "Features": "_results",
    "TableReport": "_report",
    "Progress": "_core",
    "Stopped": "_core",
    "__version__": "_core",
}

__all__ = sorted(name for name in _PLACES if name != "__version__")


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'efmca' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"efmca.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])


if TYPE_CHECKING:
    from efmca._camera import Camera as Camera
    from efmca._camera import calibrate as calibrate
    from efmca._core import Progress as Progress
    from efmca._core import Stopped as Stopped
    from efmca._core import __version__ as __version__
    from efmca._estimator import EFMCA as EFMCA
    from efmca._estimator import load_model as load_model
    from efmca._family import Family as Family
    from efmca._family import families as families
    from efmca._features import learn_features as learn_features
    from efmca._impute import Imputer as Imputer
    from efmca._images import corrupt as corrupt
    from efmca._images import denoise as denoise
    from efmca._images import inpaint as inpaint
    from efmca._images import psnr as psnr
    from efmca._images import ssim as ssim
    from efmca._noise import noise_type as noise_type
    from efmca._noise import select as select
    from efmca._plot_results import plot_choice as plot_choice
    from efmca._plot_results import plot_denoised as plot_denoised
    from efmca._plot_results import plot_noise_ranking as plot_noise_ranking
    from efmca._plots import plot_bound as plot_bound
    from efmca._plots import plot_components as plot_components
    from efmca._plots import plot_encoding as plot_encoding
    from efmca._plots import plot_table as plot_table
    from efmca._report import TableReport as TableReport
    from efmca._results import CauseChoice as CauseChoice
    from efmca._results import ColumnFamilies as ColumnFamilies
    from efmca._results import Denoised as Denoised
    from efmca._results import Features as Features
    from efmca._results import NoiseRanking as NoiseRanking
