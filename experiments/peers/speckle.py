#!/usr/bin/env python3
"""Filters for speckle on the noisy images that `experiments -- speckle --save-noisy DIR` writes.

usage: speckle.py NOISY IMAGES[,IMAGES...] [METHOD...] > peers.tsv   (METHOD: the beginning of a name, such as Lee)

NOISY is the folder with NAME_kLOOKS_sSEED.npy, IMAGES the folders with NAME.png. Each line of the output is image, looks,
seed, method, PSNR, wall and CPU seconds, for `experiments -- speckle --peers peers.tsv`.

It needs numpy, imageio, bm3d, mulog and findpeaks (the last without its dependencies: pip install --no-deps findpeaks).
These packages are yardsticks only; some of their licences do not allow commercial use.
"""
import importlib.util
import pathlib
import re
import sys
import time

import numpy as np


def filter_of(name):
    """A filter of findpeaks, without importing all of that package."""
    package = importlib.util.find_spec("findpeaks").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(package) / "filters" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, f"{name}_filter")


def lee(noisy, looks):
    return filter_of("lee")(noisy, win_size=7, cu=looks**-0.5)


def kuan(noisy, looks):
    return filter_of("kuan")(noisy, win_size=7, cu=looks**-0.5)


def mulog_bm3d(noisy, looks):
    import bm3d
    from mulog.mulog_algorithm import run_mulog

    def denoiser(image, deviation):
        low, range_ = image.min(), max(np.ptp(image), 1e-12)
        return bm3d.bm3d((image - low) / range_, sigma_psd=deviation / range_) * range_ + low

    return np.real(np.squeeze(run_mulog(noisy, looks, lambda stack, deviation: over_stack(denoiser, stack, deviation))))


def over_stack(denoiser, stack, deviation):
    """The denoiser on each image of a stack, whose short axis is the first or the last one."""
    if stack.ndim == 2:
        return denoiser(stack, deviation)
    axis = 0 if stack.shape[0] < stack.shape[-1] else -1
    return np.stack([denoiser(image, deviation) for image in np.moveaxis(stack, axis, 0)], axis=axis)


METHODS = {"Lee, 7 x 7": lee, "Kuan, 7 x 7": kuan, "MuLoG with BM3D": mulog_bm3d}


def main():
    import imageio.v2 as imageio

    noisy_folder, folders = pathlib.Path(sys.argv[1]), sys.argv[2].split(",")
    for path in sorted(noisy_folder.glob("*.npy")):
        name, looks, seed = re.fullmatch(r"(.+)_k([0-9.]+)_s([0-9]+)", path.stem).groups()
        clean_path = next(p for p in (pathlib.Path(f) / f"{name}.png" for f in folders) if p.is_file())
        clean = np.maximum(np.asarray(imageio.imread(clean_path), dtype=float), 1.0)
        noisy = np.load(path).astype(float).reshape(clean.shape)
        for method, run in METHODS.items():
            if sys.argv[3:] and not method.startswith(tuple(sys.argv[3:])):
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            estimate = run(noisy.copy(), float(looks))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            psnr = 10 * np.log10(255**2 / np.mean((estimate - clean) ** 2))
            print(name, looks, seed, method, f"{psnr:.4f}", f"{wall:.3f}", f"{cpu:.3f}", sep="\t", flush=True)


if __name__ == "__main__":
    main()
