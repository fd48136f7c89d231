"""Makes the image files in this folder with NumPy, tifffile, Pillow and astropy.

    python3 -m venv venv && venv/bin/pip install numpy tifffile imagecodecs pillow astropy
    venv/bin/python make_files.py

Every file holds the ramp that `expected` in tests/image_fixtures.rs computes:
value[p, y, x, c] = (p * 1000 + y * 50 + x * 7 + c * 3) % modulus, plus what the name says.
"""

import gzip
import struct
import zlib

import numpy as np
import tifffile
from astropy.io import fits
from PIL import Image, PngImagePlugin


def ramp(shape, modulus, dtype):
    """The ramp with axes (page, row, column, channel)."""
    p, y, x, c = np.indices(shape)
    return ((p * 1000 + y * 50 + x * 7 + c * 3) % modulus).astype(dtype)


grey = ramp((1, 5, 9, 1), 251, "u1")[0, :, :, 0]
rgb = ramp((1, 5, 9, 3), 251, "u1")[0]
stack = ramp((3, 5, 9, 1), 4096, "f4")[..., 0] + np.float32(0.25)
wide = ramp((1, 40, 50, 1), 60000, "u2")[0, :, :, 0]

# PNG
info = PngImagePlugin.PngInfo()
info.add_text("Title", "ramp")
info.add_itxt("Author", "Zoë ☃")
Image.fromarray(rgb).save("rgb.png", pnginfo=info, dpi=(300, 300))
Image.fromarray(wide).save("grey16.png")
Image.fromarray(grey).convert("P").save("palette.png")
Image.fromarray((grey % 2 * 255).astype("u1")).convert("1").save("grey1.png")
Image.fromarray(np.dstack([grey, grey // 2])).save("grey_alpha.png")
Image.fromarray(np.dstack([rgb, grey])).save("rgba.png")

Image.fromarray(grey).save("grey_key.png", transparency=57)
Image.fromarray(grey).convert("P").save("palette_alpha.png", transparency=bytes(range(0, 200)))



def interlaced(path, values, bits):
    """A grey PNG in seven passes (Adam7), which Pillow does not write."""
    rows = b""
    for y0, x0, dy, dx in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = values[y0::dy, x0::dx]
        for row in part if part.size else []:
            packed = "".join(f"{value:0{bits}b}" for value in row)
            packed += "0" * (-len(packed) % 8)
            rows += b"\0" + bytes(int(packed[i:i + 8], 2) for i in range(0, len(packed), 8))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", values.shape[1], values.shape[0], bits, 0, 0, 0, 1)),
              (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in chunks:
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


interlaced("interlaced.png", grey, 8)
interlaced("interlaced2.png", grey % 4, 2)

# TIFF
tifffile.imwrite("planar.tif", np.moveaxis(rgb, -1, 0), photometric="rgb", planarconfig="separate")
tifffile.imwrite("stack_big.tif", stack, bigtiff=True, byteorder=">", photometric="minisblack", metadata=None)
tifffile.imwrite("tiled_deflate.tif", wide, tile=(16, 32), compression="deflate", predictor=True)
tifffile.imwrite("lzw_predictor.tif", ramp((1, 40, 50, 3), 60000, "u2")[0], compression="lzw", predictor=True, photometric="rgb")
tifffile.imwrite("float_predictor.tif", wide.astype("f4") / 4, compression="deflate", predictor=True, rowsperstrip=7, byteorder=">")
tifffile.imwrite("f64_lzw.tif", wide.astype("f8") / 4, compression="lzw")
tifffile.imwrite("packbits.tif", grey, compression="packbits")
tifffile.imwrite("i16_white.tif", wide.astype("i2") - 1000, photometric="miniswhite")
tifffile.imwrite("imagej.tif", stack, imagej=True, resolution=(2.5, 2.5), metadata={"unit": "um", "axes": "ZYX"})
tifffile.imwrite("f16.tif", (grey / 4).astype("f2"))
tifffile.imwrite("rgb_alpha_tiles_planar.tif", np.moveaxis(np.dstack([ramp((1, 40, 50, 3), 251, "u1")[0], wide % 251]).astype("u1"), -1, 0),
                 photometric="rgb", planarconfig="separate", extrasamples=["unassalpha"], tile=(16, 16), compression="deflate")
Image.fromarray((grey % 2 * 255).astype("u1")).convert("1").save("grey1.tif")
Image.fromarray(grey).convert("P").save("palette.tif")
with tifffile.TiffWriter("sizes.tif") as writer:
    writer.write(grey, metadata=None)
    writer.write(grey[:4], metadata=None)
with tifffile.TiffWriter("types.tif") as writer:
    writer.write(grey, metadata=None)
    writer.write(grey.astype("u2"), metadata=None)

# NumPy
np.save("big_fortran.npy", np.asfortranarray(stack.astype(">f8")))
np.save("bool.npy", grey % 2 == 1)
np.save("i64.npy", ramp((2, 5, 9, 3), 251, "i8") - 100)
np.save("f16.npy", (grey / 4).astype("f2"))
np.save("complex.npy", grey.astype("c8"))
np.savez("two.npz", dark=grey, light=stack)
np.savez_compressed("one.npz", only=stack)

# FITS
fits.PrimaryHDU(wide).writeto("u16.fits", overwrite=True)
fits.PrimaryHDU(stack).writeto("cube.fits", overwrite=True)
header = fits.Header()
header["OBJECT"] = ("M31 / core", "what was seen")
header["EXPTIME"] = 1.5
header["LONGTEXT"] = "a text that does not fit in one card " * 4
header["DATAMIN"] = 0.0
image = fits.ImageHDU(wide.astype("i4"), header=header, name="SCI")
primary = fits.PrimaryHDU()
primary.header["TELESCOP"] = "none"
fits.HDUList([primary, fits.BinTableHDU.from_columns([fits.Column("a", "J", array=[1, 2, 3])]), image]).writeto(
    "extension.fits", overwrite=True)
with open("scaled_blank.fits", "wb") as file:
    # astropy would rescale the numbers: the cards are put in front of them by hand.
    cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    2",
             "NAXIS1  =                    9", "NAXIS2  =                    5", "BSCALE  =                  0.5",
             "BZERO   =                1.0D1", "BLANK   =                    7", "OBJECT  = 'it''s / ok'  / comment", "END"]
    file.write("".join(f"{card:80}" for card in cards).encode().ljust(2880))
    file.write(grey.astype(">i2").tobytes().ljust(2880, b"\0"))
fits.CompImageHDU(wide).writeto("tile_compressed.fits", overwrite=True)
with open("u16.fits", "rb") as file, gzip.GzipFile("u16.fits.gz", "wb", mtime=0) as packed:
    packed.write(file.read())

# As ImageJ writes stacks of more than 4 GB: one directory for all pages.
tifffile.imwrite("imagej_one_directory.tif", stack, imagej=True, metadata={"axes": "ZYX"}, truncate=True)
