"""Files as other libraries write and read them, with the numbers that are in them.

A function of WRITERS makes a file and says with which job it is read, which numbers are in it, and what kind it is. One of READERS
gives numbers, the job that writes them, and a function that reads them with another library. All sizes are small.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.io.wavfile
import scipy.sparse
import soundfile
import tifffile
from astropy.io import fits
from PIL import Image

INTEGERS = ["u1", "u2", "u4", "i1", "i2", "i4"]


def numbers(rng, shape, dtype: str) -> np.ndarray:
    """Any numbers of a type: the ends of its range, and for floating point numbers all magnitudes."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        found = rng.integers(ends.min, ends.max, shape, dtype=kind.newbyteorder("="), endpoint=True)
        return np.where(rng.random(shape) < 0.5, found, rng.integers(0, 100, shape)).astype(kind)
    power = {2: 4, 4: 37, 8: 300}[kind.itemsize]
    found = rng.normal(size=shape) * 10.0 ** rng.integers(-power, power, shape)
    return found.astype(kind)


def choose(rng, *options):
    return options[rng.integers(len(options))]


def tiff(rng, path: Path):
    path = path.with_suffix(".tif")
    dtype = choose(rng, *INTEGERS, "f4", "f8", "f2")
    pages, rows, columns, channels = rng.integers(1, 4), *rng.integers(2, 40, 2), choose(rng, 1, 1, 3)
    values = numbers(rng, (pages, rows, columns, channels), dtype)
    compression = choose(rng, None, "zlib", "lzw", "packbits")
    float_kind = dtype.startswith("f")
    predictor = compression in ("zlib", "lzw") and choose(rng, True, False) and dtype != "f2"
    planar = "separate" if channels == 3 and choose(rng, True, False) else "contig"
    options = {
        "photometric": "rgb" if channels == 3 else "minisblack",
        "compression": compression,
        "predictor": (3 if float_kind else 2) if predictor else None,
        "tile": choose(rng, None, None, (16, 16), (32, 16)),
        "planarconfig": planar if channels == 3 else None,
    }
    if options["tile"] is None:
        options["rowsperstrip"] = int(rng.integers(1, rows + 1))
    order, big = choose(rng, "<", ">"), choose(rng, True, False)
    with tifffile.TiffWriter(path, bigtiff=big, byteorder=order) as file:
        for page in values:
            page = page[..., 0] if channels == 1 else np.moveaxis(page, -1, 0) if planar == "separate" else page
            file.write(page, metadata=None, contiguous=False, **options)
    return "image", path, values, f"{dtype} {order} big={big} {options}"


def fits_image(rng, path: Path):
    packed = choose(rng, False, False, True)
    path = path.with_suffix(".fits.gz" if packed else ".fits")
    dtype = choose(rng, "u1", "i2", "i4", "i8", "f4", "f8", "u2", "u4")
    shape = tuple(rng.integers(1, 24, choose(rng, 2, 3)))
    values = numbers(rng, shape, dtype)
    hdu = fits.PrimaryHDU(values)
    expected = values.astype(np.float64)
    what = dtype
    if dtype in ("u1", "i2", "i4") and choose(rng, True, False):
        scale, zero, blank = float(rng.normal()), float(rng.normal() * 100), int(values.flat[0])
        # astropy would scale numbers that are to be stored as they are
        cards = hdu.header
        cards["BSCALE"], cards["BZERO"], cards["BLANK"] = scale, zero, blank
        header = cards.tostring(endcard=True, padding=True).encode()
        # a card has room for 16 digits
        scale, zero = (fits.Header.fromstring(header)[key] for key in ("BSCALE", "BZERO"))
        expected = np.where(values == blank, np.nan, zero + scale * values.astype(np.float64))
        data = values.astype(values.dtype.newbyteorder(">")).tobytes()
        bytes_ = header + data + b"\0" * (-len(data) % 2880)
        what = f"{dtype} scaled by {scale} from {zero}, {blank} is blank"
    else:
        hdu.writeto(path.with_suffix(".plain"))
        bytes_ = path.with_suffix(".plain").read_bytes()
    path.write_bytes(gzip.compress(bytes_) if packed else bytes_)
    pages = expected.reshape((-1, *shape[-2:]))
    return "image", path, pages[..., None], what


def npy(rng, path: Path):
    path = path.with_suffix(".npy")
    dtype = choose(rng, "?", *INTEGERS, "u8", "i8", "f2", "f4", "f8")
    dtype = dtype if dtype in ("?", "u1", "i1") else choose(rng, "<", ">") + dtype
    values = numbers(rng, tuple(rng.integers(5, 12, choose(rng, 2, 3))), dtype)
    fortran, version = choose(rng, True, False), choose(rng, (1, 0), (2, 0), (3, 0))
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.asfortranarray(values) if fortran else values, version=version)
    expected = values.astype(np.float64)
    if choose(rng, True, False):
        return "table", path, expected.reshape(len(values), -1), f"{dtype} fortran={fortran} {version}"
    return "image", path, expected.reshape((-1, *values.shape[-2:], 1)), f"{dtype} fortran={fortran} {version}"


def npz(rng, path: Path):
    path = path.with_suffix(".npz")
    dtype = choose(rng, "<", ">") + choose(rng, "u2", "i4", "f4", "f8")
    values = numbers(rng, tuple(rng.integers(5, 12, 2)), dtype)
    packed = choose(rng, True, False)
    (np.savez_compressed if packed else np.savez)(path, first=values, second=np.arange(3))
    expected = values.astype(np.float64)[None, ..., None]
    return "image", Path(f"{path}:first"), expected, f"{dtype} packed={packed}"


def sparse(rng, path: Path):
    path = path.with_suffix(".npz")
    dtype = choose(rng, "f8", "f4", "i4", "i8", "u1")
    shape = tuple(rng.integers(1, 20, 2))
    whole = np.where(rng.random(shape) < 0.3, numbers(rng, shape, dtype), 0).astype(dtype)
    form = choose(rng, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array, scipy.sparse.csc_array)
    scipy.sparse.save_npz(path, form(whole), compressed=bool(choose(rng, True, False)))
    return "table", path, whole.astype(np.float64), f"{dtype} {form.__name__}"


def wav(rng, path: Path):
    path = path.with_suffix(".wav")
    kind, count, channels = choose(rng, "u1", "i2", "i3", "i4", "f4", "f8"), rng.integers(1, 300), choose(rng, 1, 2)
    shape = (count, channels)
    if kind == "i3":
        values = numbers(rng, shape, "i4") >> 8
        soundfile.write(path, (values << 8).astype("i4"), 8000, subtype="PCM_24")
        expected = values / 2.0**23
    elif kind.startswith("f"):
        values = rng.normal(size=shape).astype(kind)
        scipy.io.wavfile.write(path, 44100, values)
        expected = values.astype(np.float64)
    else:
        values = numbers(rng, shape, kind)
        scipy.io.wavfile.write(path, 22050, values)
        expected = (values - 128.0) / 128 if kind == "u1" else values / 2.0 ** (8 * int(kind[1]) - 1)
    return "sound", path, expected[:, 0] if channels == 1 else (expected[:, 0] + expected[:, 1]) / 2, f"{kind} {channels}"


def frame(rng) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of numbers with gaps, and its numbers. The first row has no gap, so that no column is empty."""
    rows = int(rng.integers(2, 30))
    columns = {}
    for column in range(rng.integers(1, 6)):
        dtype = choose(rng, "f8", "f4", "i8", "u1", "i4", "u4")
        values = numbers(rng, rows, dtype)
        if dtype.startswith("f"):
            values[1:][rng.random(rows - 1) < 0.2] = np.nan
        columns[f"column {column}"] = values
    table = pd.DataFrame(columns)
    return table, np.column_stack([values.astype(np.float64) for values in columns.values()])


def csv(rng, path: Path):
    path = path.with_suffix(".csv")
    table, expected = frame(rng)
    # single precision is written with its shortest digits, which are another double
    for name in table.columns[table.dtypes == np.float32]:
        table[name] = table[name].astype(np.float64)
    options = {"sep": choose(rng, ",", ";", "\t"), "lineterminator": choose(rng, "\n", "\r\n"), "na_rep": choose(rng, "", "NA", "nan")}
    # one column with decimal commas has no separator that would tell, and is refused
    if options["sep"] != "," and table.shape[1] > 1 and choose(rng, True, False):
        options["decimal"] = ","
    packed = choose(rng, False, True)
    path = path.with_suffix(".csv.gz") if packed else path
    table.to_csv(path, index=False, **options)
    return "table", path, expected, str(options)


def parquet(rng, path: Path):
    path = path.with_suffix(".parquet")
    table, expected = frame(rng)
    if choose(rng, True, False):
        truths = rng.random(len(table)) < 0.5
        truths[:2] = [True, False]
        table["truth"] = truths
        whole = pd.array(rng.integers(0, 9, len(table)), dtype="Int64")
        whole[1:2] = pd.NA
        table["gaps"] = whole
        expected = np.column_stack([expected, truths, table["gaps"].to_numpy(np.float64, na_value=np.nan)])
    options = {"compression": choose(rng, None, "snappy", "gzip", "lz4"), "row_group_size": int(rng.integers(1, 40))}
    options["version"] = choose(rng, "1.0", "2.6")
    options["use_dictionary"] = bool(choose(rng, True, False))
    table.to_parquet(path, index=False, **options)
    return "table", path, expected, str(options)


def png(rng, path: Path):
    path = path.with_suffix(".png")
    mode, dtype = choose(rng, ("L", "u1"), ("I;16", "u2"), ("RGB", "u1"))
    channels = 3 if mode == "RGB" else 1
    values = numbers(rng, (*rng.integers(1, 30, 2), channels), dtype)
    Image.fromarray(values if channels == 3 else values[..., 0]).save(path)
    return "image", path, values[None].astype(np.float64), mode


WRITERS = {
    "TIFF": tiff, "FITS": fits_image, "NPY": npy, "NPZ": npz, "sparse": sparse, "WAV": wav, "CSV": csv, "Parquet": parquet, "PNG": png,
}  # fmt: skip


def picture(rng, dtypes, channels=(1, 3), pages=3):
    dtype = choose(rng, *dtypes)
    shape = (int(rng.integers(1, pages + 1)), *rng.integers(2, 20, 2), choose(rng, *channels))
    return numbers(rng, shape, dtype).astype(np.float64), dtype


def our_type(dtype: str) -> str:
    return f"{dtype[0]}{8 * int(dtype[1:])}"


def read_tiff(rng, path: Path):
    path = path.with_suffix(".tif")
    values, dtype = picture(rng, [*INTEGERS, "f4", "f8"])

    def read():
        with tifffile.TiffFile(path) as file:
            assert file.pages[0].dtype == np.dtype(dtype)
            return np.stack([page.asarray() for page in file.pages]).reshape(values.shape)

    return values, ("write-image", path, our_type(dtype)), read


def read_fits(rng, path: Path):
    path = path.with_suffix(".fits")
    values, dtype = picture(rng, ["u1", "i2", "i4", "u2", "f4", "f8"], channels=(1,))
    return values, ("write-image", path, our_type(dtype)), lambda: np.asarray(fits.getdata(path)).reshape(values.shape)


def read_npy(rng, path: Path):
    path = path.with_suffix(choose(rng, ".npy", ".npz"))
    values, dtype = picture(rng, [*INTEGERS, "f4", "f8"])

    def read():
        found = np.load(path)
        found = found if path.suffix == ".npy" else found["arr_0"]
        assert found.dtype == np.dtype(dtype)
        return found.reshape(values.shape)

    return values, ("write-image", path, our_type(dtype)), read


def read_png(rng, path: Path):
    path = path.with_suffix(".png")
    dtype, channels = choose(rng, ("u1", 1), ("u2", 1), ("u1", 3))
    values = numbers(rng, (1, *rng.integers(1, 20, 2), channels), dtype).astype(np.float64)
    return values, ("write-image", path, our_type(dtype)), lambda: np.asarray(Image.open(path)).reshape(values.shape)


def read_csv(rng, path: Path):
    path = path.with_suffix(choose(rng, ".csv", ".tsv"))
    values = numbers(rng, tuple(rng.integers(1, 20, 2)), "f8")
    values[rng.random(values.shape) < 0.1] = 7.0
    separator = "\t" if path.suffix == ".tsv" else ","
    return values, ("write-table", path), lambda: pd.read_csv(path, sep=separator, float_precision="round_trip").to_numpy(np.float64)


def read_sparse(rng, path: Path):
    path = path.with_suffix(".npz")
    shape = tuple(rng.integers(1, 20, 2))
    values = np.where(rng.random(shape) < 0.3, numbers(rng, shape, "f8"), 0.0)
    return values, ("write-sparse", path), lambda: scipy.sparse.load_npz(path).toarray()


READERS = {"TIFF": read_tiff, "FITS": read_fits, "NPY and NPZ": read_npy, "PNG": read_png, "CSV": read_csv, "sparse": read_sparse}


def _saved(path: Path, save) -> Path:
    save(path)
    return path


def _array(values):
    return lambda path: ("image", _saved(path.with_suffix(".npy"), lambda path: np.save(path, values, allow_pickle=True)))


def _tiff(values, **options):
    return lambda path: ("image", _saved(path.with_suffix(".tif"), lambda path: tifffile.imwrite(path, values, **options)))


def _parquet(table: pd.DataFrame, **options):
    return lambda path: ("table", _saved(path.with_suffix(".parquet"), lambda path: table.to_parquet(path, **options)))


def _sound(subtype: str):
    return lambda path: ("sound", _saved(path.with_suffix(".wav"), lambda path: soundfile.write(path, np.zeros(20), 8000, subtype)))


# What is not read must be refused with a reason.
REFUSED = {
    "complex": _array(np.ones((4, 4), complex)),
    "words": _array(np.array([["a", "b"], ["c", "d"]])),
    "records": _array(np.zeros(4, [("a", "f8"), ("b", "i4")])),
    "objects": _array(np.array([[1, None], [2, 3]], dtype=object)),
    "dates": _array(np.zeros((3, 3), "M8[s]")),
    "jpeg": _tiff(np.zeros((16, 16), np.uint8), compression="jpeg"),
    "zstd": _tiff(np.zeros((16, 16), np.uint8), compression="zstd"),
    "complex-tiff": _tiff(np.ones((4, 4), np.complex64)),
    "zstd-parquet": _parquet(pd.DataFrame({"a": [1.0, 2.0]}), compression="zstd"),
    "list-parquet": _parquet(pd.DataFrame({"a": [[1, 2], [3]]})),
    "date-parquet": _parquet(pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])})),
    "coo": lambda path: (
        "table",
        _saved(path.with_suffix(".npz"), lambda path: scipy.sparse.save_npz(path, scipy.sparse.coo_matrix(np.eye(3)))),
    ),
    "mu-law": _sound("ULAW"),
    "adpcm": _sound("MS_ADPCM"),
    "packed-fits": lambda path: (
        "image",
        _saved(
            path.with_suffix(".fits"),
            lambda path: fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(np.zeros((8, 8), "i2"))]).writeto(path),
        ),
    ),
}
