#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train the digit classifier and write its quantised weights and the held-out images.

Data: the handwritten digits that come with scikit-learn (1797 images of 8 x 8, values 0..16; UCI ML
repository, Alpaydin and Kaynak 1998). The split is fixed by SEED; the held-out part is never trained on
and takes no part in choosing anything: epochs, sizes and seeds are constants below.

Network: 64 -> 32 (ReLU) -> 10, weights rounded to bf16, biases f32. Outputs (committed):
  weights.npz   w1 [64, 32] and w2 [32, 10] as bf16 bit patterns (uint16), b1 [32], b2 [10] f32
  heldout.npz   images [n, 64] uint8, labels [n] uint8
"""
import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

SEED = 20
HELD_OUT = 450
HIDDEN = 32
HERE = pathlib.Path(__file__).resolve().parent


def to_bf16(x):
    """Bit patterns of x rounded to bf16, nearest even."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(b):
    return (b.astype(np.uint32) << 16).view(np.float32)


def main():
    digits = load_digits()
    images = digits.data.astype(np.uint8)
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=HELD_OUT, random_state=SEED, stratify=digits.target)
    net = MLPClassifier(hidden_layer_sizes=(HIDDEN,), activation="relu", alpha=0.05, max_iter=600, tol=0.0,
                        n_iter_no_change=600, random_state=SEED)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is fixed on purpose
    net.fit(train_x / 16.0, train_y)
    # The device takes the pixels as they are (0..16, exact in bf16): the scale goes into w1.
    w1, w2 = to_bf16(net.coefs_[0] / 16.0), to_bf16(net.coefs_[1])
    b1, b2 = (b.astype(np.float32) for b in net.intercepts_)

    hidden = np.maximum(test_x.astype(np.float32) @ from_bf16(w1) + b1, 0)
    scores = from_bf16(to_bf16(hidden)) @ from_bf16(w2) + b2
    accuracy = float((scores.argmax(axis=1) == test_y).mean())

    np.savez(HERE / "weights.npz", w1=w1, b1=b1, w2=w2, b2=b2)
    np.savez(HERE / "heldout.npz", images=test_x, labels=test_y.astype(np.uint8))
    provenance = {
        "data": "scikit-learn load_digits (UCI Optical Recognition of Handwritten Digits)",
        "script": "tools/digits/train.py", "seed": SEED, "trained_on": len(train_x), "held_out": len(test_x),
        "scikit_learn": sklearn.__version__, "numpy": np.__version__,
        "held_out_accuracy_on_host": round(accuracy, 4),
    }
    (HERE / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n")
    print(json.dumps(provenance, indent=2))


if __name__ == "__main__":
    main()
