#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a data file for the app digits: the network and the images to classify.

  pack.py -o OUT                       the held-out images with their labels
  pack.py -o OUT IMAGE [IMAGE ...]     your own: PNG or PGM pictures of one digit each, or CSV with 64
                                       numbers 0..16 a line (one image a line)

A picture may have any size. It is brought to 8 x 8 values 0..16 as the data set is: bright strokes on
dark ground (a picture that is mostly bright is inverted), cropped to the strokes, centred, averaged.
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "data"))
import datafile  # noqa: E402
import pack as packer  # noqa: E402  (says what to do if there is no numpy)

import numpy as np  # noqa: E402


def to_8x8(grey, path):
    """8 x 8 values 0..16 of a grey picture."""
    if grey.shape == (8, 8) and grey.max() <= 16:
        return grey.astype(np.uint8)
    v = grey.astype(np.float64) / 255
    if np.median(v) > 0.5:
        v = 1 - v
    strokes = np.argwhere(v > 0.25)
    if strokes.size == 0:
        raise datafile.BadFile(f"{path}: nothing to see, no pixel stands out from the ground: greys from {grey.min()} to "
                               f"{grey.max()} of 255; bright strokes on a dark ground, or the other way round, are right")
    (top, left), (bottom, right) = strokes.min(axis=0), strokes.max(axis=0) + 1
    side = max(bottom - top, right - left)
    square = np.zeros((side, side))
    y, x = (side - (bottom - top)) // 2, (side - (right - left)) // 2
    square[y:y + bottom - top, x:x + right - left] = v[top:bottom, left:right]
    # Average over 8 x 8 fields; a pixel counts in a field by as much of it as lies in there, so that any side divides.
    edges = np.arange(9)[:, None] * side / 8
    pixel = np.arange(side)[None, :]
    weights = np.clip(np.minimum(edges[1:], pixel + 1) - np.maximum(edges[:-1], pixel), 0, None) * 8 / side
    fields = weights @ square @ weights.T
    return np.rint(16 * fields / max(fields.max(), 1e-9)).astype(np.uint8)


def check_rows(values, path):
    """Rows of a CSV file as images; says which number is wrong."""
    if values.shape[1] != 64:
        raise datafile.BadFile(f"{path}: {values.shape[1]} numbers a line; 64, one image, are right")
    wrong = np.argwhere(~((values >= 0) & (values <= 16) & (values == np.rint(values))))
    if wrong.size:
        row, column = wrong[0]
        raise datafile.BadFile(f"{path}: number {column + 1} of image {row + 1} is {values[row, column]:g}; whole numbers from 0 "
                               "to 16 are right")
    return values.astype(np.uint8)


def read_images(paths):
    images = []
    for path in paths:
        values = packer.read_any(path)
        if pathlib.Path(path).suffix.lower() == ".csv":
            images.append(check_rows(values, path))
        elif values.ndim != 2:
            raise datafile.BadFile(f"{path}: an array of rank {values.ndim}; PNG, PGM and CSV files are right")
        else:
            images.append(to_8x8(values, path).reshape(1, 64))
    return np.concatenate(images)


def network():
    with np.load(HERE / "weights.npz", allow_pickle=False) as w:
        return [packer.make_array("w1", w["w1"], "bf16"), packer.make_array("b1", w["b1"], "f32"),
                packer.make_array("w2", w["w2"], "bf16"), packer.make_array("b2", w["b2"], "f32")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("images", nargs="*")
    args = parser.parse_args()
    try:
        arrays = network()
        if args.images:
            arrays.append(packer.make_array("images", read_images(args.images), "uint8"))
        else:
            with np.load(HERE / "heldout.npz", allow_pickle=False) as held:
                arrays.append(packer.make_array("images", held["images"], "uint8"))
                arrays.append(packer.make_array("labels", held["labels"], "uint8"))
        data = datafile.encode(arrays)
        datafile.write(args.output, data)
    except datafile.BadFile as e:
        sys.exit(f"digits/pack.py: {e}")
    print(f"{args.output}: {arrays[4].shape[0]} images, {len(data)} bytes")


if __name__ == "__main__":
    main()
