import json

import numpy as np
import pytest

import retrograde as rg
from retrograde.models import images

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 50, 71), np.uint8)


@pytest.mark.parametrize(("mode", "size", "resize"), [("bilinear", 24, 28), ("bicubic", 24, 28), ("bilinear", 40, 77), ("bicubic", 77, 77)])
def test_images_are_resized_as_by_pillow_without_its_rounding(mode, size, resize):
    pillow = pytest.importorskip("PIL.Image")
    made = images.Preprocess(size, resize, (0.0,) * 3, (1.0,) * 3, mode)(PIXELS)
    wide = int(resize * 71 / 50)
    top, left = round((resize - size) / 2), round((wide - size) / 2)
    for channel, found in zip(PIXELS, made, strict=True):
        # Images of floats: Pillow rounds those of bytes, and cuts them off, after each axis.
        x = channel.astype(np.float32)
        for shape in ((wide, 50), (wide, resize)):
            x = np.clip(np.array(pillow.fromarray(x).resize(shape, pillow.Resampling[mode.upper()])), 0, 255)
        np.testing.assert_allclose(found, x[top : top + size, left : left + size] / 255, atol=2e-6)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_are_within_two_levels_of_those_that_pillow_rounds(mode):
    pillow = pytest.importorskip("PIL.Image")
    made = images.Preprocess(28, 28, (0.0,) * 3, (1.0,) * 3, mode)(PIXELS)
    image = pillow.fromarray(PIXELS.transpose(1, 2, 0)).resize((39, 28), pillow.Resampling[mode.upper()])
    expected = np.array(image).transpose(2, 0, 1)[:, :, round(11 / 2) : round(11 / 2) + 28]
    assert np.abs(made * 255 - expected).max() < 2


def test_colours_are_brought_to_the_mean_and_deviation_of_imagenet():
    grey = np.full((2, 3, 300, 400), 51, np.uint8)
    found = images.Preprocess()(grey)
    assert found.shape == (2, 3, 224, 224)
    assert found.dtype == np.float32
    for channel, (mean, deviation) in enumerate([(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]):
        np.testing.assert_allclose(found[:, channel], (0.2 - mean) / deviation, atol=1e-5)


def test_the_middle_is_cut_out_and_floats_are_taken_as_they_are():
    x = np.random.default_rng(1).random((1, 7, 10), np.float32)
    found = images.Preprocess(4, 7, (0.0,), (1.0,))(x)
    np.testing.assert_allclose(found, x[:, 2:6, 3:7], atol=1e-6)


@pytest.mark.parametrize(("pixels", "message"), [
    (np.zeros((50, 71, 3), np.uint8), r"\(..., 3, height, width\), got \(50, 71, 3\)"), (np.zeros((3, 9, 9), np.int64), "uint8, or of floats"),
    (np.full((3, 9, 9), 2.0), "from 0 to 1, got some from 2"), (np.full((3, 9, 9), np.nan), "from 0 to 1"),
    (np.zeros((3, 0, 9), np.uint8), "got"), (np.zeros((9, 9), np.uint8), "got")])
def test_pixels_that_are_none_are_refused(pixels, message):
    with pytest.raises((rg.errors.ShapeError, rg.errors.DTypeError, rg.errors.ArgumentError), match=message):
        images.Preprocess()(pixels)


@pytest.mark.parametrize(("options", "message"), [
    ({"mode": "lanczos"}, "bilinear, bicubic"), ({"size": 300}, "at most resize, got 300 and 256"), ({"std": (1.0, 0.0, 1.0)}, "positive"),
    ({"mean": (0.5,)}, "for each channel")])
def test_settings_that_make_no_images_are_refused(options, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        images.Preprocess(**options)


CONFIG = {"input_size": [3, 224, 224], "crop_pct": 0.9, "crop_mode": "center", "interpolation": "bicubic", "mean": [0.5] * 3, "std": [0.5] * 3}


def test_the_settings_of_a_folder_of_timms_are_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architecture": "vit_tiny_patch16_224", "pretrained_cfg": CONFIG}))
    assert images.preprocess_of(tmp_path) == images.Preprocess(224, 248, (0.5,) * 3, (0.5,) * 3, "bicubic")
    for change, message in (({"crop_mode": "squash"}, "crop_mode 'squash'"), ({"input_size": [3, 224, 256]}, "224x256"),
                            ({"interpolation": "random"}, "makes no images: mode must be"), ({"crop_pct": 0}, "makes no images"),
                            ({"mean": 0.5}, "makes no images"), ({"input_size": [224]}, "makes no images"), (None, "lacks pretrained_cfg")):
        facts = {} if change is None else {"pretrained_cfg": {**CONFIG, **change}}
        path.write_text(json.dumps({"architecture": "vit_tiny_patch16_224", **facts}))
        with pytest.raises(rg.errors.CheckpointError, match=message):
            images.preprocess_of(tmp_path)
    path.write_text(json.dumps({"architecture": "resnet18", "pretrained_cfg": {name: x for name, x in CONFIG.items() if name != "std"}}))
    with pytest.raises(rg.errors.CheckpointError, match=r"lacks pretrained_cfg\.std"):
        images.preprocess_of(tmp_path)
