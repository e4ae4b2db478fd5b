"""Folders of images: sizes, colours, labels; what cannot be read."""

import warnings

import numpy as np
import pytest
from PIL import Image

from mercer.tables.table import TableError, read_table

RNG = np.random.default_rng(0)


def test_a_folder_of_images(tmp_path):
    pixels = RNG.integers(0, 255, (3, 6, 5), np.uint8)
    for i, folder in enumerate(["cat", "cat", "dog"]):
        (tmp_path / folder).mkdir(exist_ok=True)
        Image.fromarray(pixels[i]).save(tmp_path / folder / f"{i}.png")
    (tmp_path / "readme.txt").write_text("no image")
    found = read_table(tmp_path)
    assert np.array_equal(found.X, pixels.reshape(3, -1) / np.float32(255))
    assert found.ids.tolist() == ["cat/0.png", "cat/1.png", "dog/2.png"]
    assert found.labels.tolist() == ["cat", "cat", "dog"]
    assert found.features[:2] == ["y0x0", "y0x1"] and len(found.images) == 3
    Image.fromarray(RNG.integers(0, 255, (12, 10, 3), np.uint8)).save(tmp_path / "dog" / "large.png")
    mixed = read_table(tmp_path)
    assert mixed.X.shape == (4, 6 * 5 * 3) and mixed.preparation.image == (5, 6, 3)
    assert "1 of 4 images was resized to 5 × 6 pixels" in mixed.notes[0]
    again = read_table(tmp_path, preparation=found.preparation)  # grey, for the fitted ones were
    assert again.X.shape == (4, 30) and (again.X[:2] == found.X[:2]).all()
    assert read_table(tmp_path).digest != found.digest


def test_images_of_other_modes(tmp_path):
    deep = np.array([[0, 65535], [32768, 257]], np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(read_table(tmp_path).X, [[0, 1, 128 / 255, 1 / 255]], atol=1 / 255)
    (tmp_path / "deep.png").unlink()
    clear = np.zeros((2, 2, 4), np.uint8)
    clear[0, 0] = 0, 0, 0, 255
    Image.fromarray(clear).save(tmp_path / "clear.png")
    assert read_table(tmp_path).X.tolist() == [[0, 0, 0] + [1] * 9]  # what is transparent is white


def test_images_that_cannot_be_read(tmp_path):
    with pytest.raises(TableError, match="folder without images"):
        read_table(tmp_path)
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(TableError, match=r"a\.png cannot be read as an image"):
        read_table(tmp_path)
    Image.new("1", (8000, 8000)).save(tmp_path / "a.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TableError, match="8000 × 8000 pixels, more than"):
            read_table(tmp_path)


def test_hidden_images_are_left_out(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "._a.png").write_bytes(b"what another system keeps beside it")
    assert read_table(tmp_path).X.shape == (1, 16)


def test_broken_images_are_left_out_and_named(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (3, 8, 8), np.uint8)
    for i, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"{i}.png")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "half.png").write_bytes((tmp_path / "1.png").read_bytes()[:60])
    found = read_table(tmp_path)
    assert found.ids.tolist() == ["0.png", "1.png", "2.png"] and len(found.images) == 3
    assert np.array_equal(found.X.astype(np.float32), pixels.reshape(3, -1).astype(np.float32) / np.float32(255))
    assert any("2 of 5 images cannot be read" in note and "'empty.png', 'half.png'" in note for note in found.notes)
    for i in range(3):
        (tmp_path / f"{i}.png").unlink()
    with pytest.raises(TableError, match="none of its 2 images can be read"):
        read_table(tmp_path)
