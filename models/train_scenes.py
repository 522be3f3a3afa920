"""Make synthetic scenes to train denoisers on: `train_scenes.py FOLDER COUNT [SEED [TEXTURED]]`.

It writes colour scenes of 256 x 256 pixels as .npy. TEXTURED is the share of the shapes that carry a texture (default 0.65).

A scene is made of dead leaves (Lee, Mumford and Huang 2001): opaque shapes with radii drawn from p(r) ~ r^-3, painted front
to back at twice the extent and averaged down, so that edges are anti-aliased. The leaves carry textures: 1/f noise, bent
grain like fur and wood, stripes. Over them come thin curves like hair and vessels, lines of text-like glyphs, shading and a
little blur. Channels are correlated as in photographs: most contrast is in luminance. No photograph is used.
"""
import math, os, sys, numpy as np

SIZE, OVER = 256, 2                          # extent of a scene in pixels, oversampling
N = SIZE * OVER

def unit(z):
    return ((z - z.mean()) / (z.std() + 1e-9)).astype(np.float32)

def power_noise(rng, exponent, stretch=1.0):
    """Noise of amplitude 1/f^exponent; `stretch` > 1 draws it out along a random direction."""
    f = np.fft.fftfreq(N); fx, fy = np.meshgrid(f, f)
    t = rng.uniform(0, math.pi)
    r = np.hypot((fx * math.cos(t) + fy * math.sin(t)) * stretch, -fx * math.sin(t) + fy * math.cos(t)) + .5 / N
    return unit(np.fft.ifft2(np.fft.fft2(rng.standard_normal((N, N))) / r ** exponent).real)

def bend(rng, texture, strength):
    """Moves pixels along a smooth random field, so that straight grain becomes curved."""
    y, x = np.mgrid[0:N, 0:N]
    dx, dy = (power_noise(rng, 2.5) * strength for _ in range(2))
    return texture[(y + dy).astype(int) % N, (x + dx).astype(int) % N]

def stripes(rng):
    y, x = np.mgrid[0:N, 0:N].astype(np.float32)
    t, period = rng.uniform(0, math.pi), OVER * rng.uniform(2.5, 16)
    wave = np.sin((x * math.cos(t) + y * math.sin(t)) * 2 * math.pi / period)
    if rng.random() < .4: wave = wave * np.sin((y * math.cos(t) - x * math.sin(t)) * 2 * math.pi / period)
    return unit(np.clip(wave * rng.choice([1, 4]), -1, 1))

def texture(rng):
    kind = rng.random()
    if kind < .35: return power_noise(rng, rng.uniform(.3, 2))
    if kind < .80: return bend(rng, power_noise(rng, rng.uniform(.6, 1.6), rng.uniform(3, 14)), rng.uniform(0, 40))
    if kind < .92: return bend(rng, stripes(rng), rng.choice([0, 15]))
    return unit(np.abs(power_noise(rng, 1.2)) * power_noise(rng, rng.uniform(.3, 1)))

def palette_of(rng):
    """Colours of a scene: random luminance, chroma of a strength that is the scene's own."""
    count = rng.integers(3, 40)
    light = rng.random((count, 1)) ** rng.choice([.7, 1, 1.6])
    chroma = rng.random((count, 3)) - .5 + rng.normal(0, .15, 3)
    strength = 0 if rng.random() < .12 else rng.random() ** 1.5
    return np.clip(light + strength * (chroma - chroma.mean(1, keepdims=True)), 0, 1).astype(np.float32)

def leaf_mask(rng, X, Y, r):
    q = rng.random()
    if q < .5: return X * X + Y * Y < r * r
    t = rng.uniform(0, math.pi); a, b = X * math.cos(t) + Y * math.sin(t), Y * math.cos(t) - X * math.sin(t)
    if q < .65: return a * a + b * b / rng.uniform(.05, .6) < r * r
    if q < .85: return (abs(a) < r) & (abs(b) < r * rng.uniform(.05, 1))
    if q < .93: return np.hypot(X, Y) < r * (.7 + .3 * np.sin(rng.integers(3, 9) * np.arctan2(Y, X)))
    return abs(a) + abs(b) < r

def leaf_colour(rng, palette, textures, box, X, Y, r, roughness, textured):
    c0, c1 = palette[rng.integers(len(palette), size=2)] + rng.normal(0, .03, (2, 1)).astype(np.float32)
    d, mix = rng.uniform(0, 2 * math.pi), rng.random() ** 2 * .7
    g = np.clip(.5 + (X * math.cos(d) + Y * math.sin(d)) / (2 * r), 0, 1)[..., None] * mix
    colour = c0 * (1 - g) + c1 * g
    if rng.random() < textured:
        grain = textures[rng.integers(len(textures))][box][..., None] * rng.random() ** 2 * roughness
        colour = colour + grain * (1 if rng.random() < .7 else (c1 - c0) * 2)
    return colour

def dead_leaves(rng, palette, textures, textured):
    img = np.zeros((N, N, 3), np.float32); free = np.ones((N, N), bool)
    rmin, rmax = rng.choice([1.5, 3, 8, 20, 40]) * OVER, N * rng.uniform(.15, .7)
    roughness = rng.choice([.08, .2, .35])
    y, x = np.mgrid[0:N, 0:N].astype(np.float32)
    for k in range(4000):
        u = rng.random(); r = 1 / math.sqrt(u / rmin ** 2 + (1 - u) / rmax ** 2)
        cx, cy = rng.uniform(-r / 2, N + r / 2, 2)
        box = slice(int(max(0, cy - r)), int(min(N, cy + r + 2))), slice(int(max(0, cx - r)), int(min(N, cx + r + 2)))
        X, Y = x[box] - cx, y[box] - cy
        if not X.size: continue
        m = leaf_mask(rng, X, Y, r) & free[box]
        if not m.any(): continue
        img[box][m] = leaf_colour(rng, palette, textures, box, X, Y, r, roughness, textured)[m]; free[box][m] = False
        if k % 50 == 0 and free.mean() < .01: break
    back = palette[0] + textures[0][..., None] * roughness * rng.random() * .5
    img[free] = back[free]
    return img

def add_curves(rng, img, palette):
    """Thin curves whose direction drifts: hair, vessels, twigs. Curves of one scene share a main direction or none."""
    count, length, width = rng.integers(4, 250), rng.integers(40, 400), rng.choice([1, 2, 3, 4, 6])
    turn = np.cumsum(rng.normal(0, rng.uniform(.005, .06), (count, length)), 1)
    angle = rng.uniform(0, 2 * math.pi) + rng.normal(0, rng.choice([.2, 3]), (count, 1)) + turn
    xs = rng.uniform(0, N, (count, 1)) + np.cumsum(np.cos(angle), 1)
    ys = rng.uniform(0, N, (count, 1)) + np.cumsum(np.sin(angle), 1)
    colours = palette[rng.integers(len(palette), size=1)] + rng.normal(0, .12, (count, 1))
    colours = np.repeat(np.clip(colours, 0, 1).astype(np.float32)[:, None], length, 1)
    opacity = np.float32(rng.uniform(.25, 1))
    layer = img.copy()
    for dy in range(width):
        for dx in range(width):
            if math.hypot(dx - (width - 1) / 2, dy - (width - 1) / 2) > width / 2: continue
            layer[(ys + dy).astype(int) % N, (xs + dx).astype(int) % N] = colours
    return img + opacity * (layer - img)

def add_text(rng, img, palette):
    """Rows of random glyphs of straight strokes, as lettering has them."""
    cell = int(rng.integers(2, 9)); glyphs = rng.random((12, 7, 5)) < .45
    glyphs[:, ::3, 1:4] |= rng.random((12, 3, 3)) < .5
    rows, cols = rng.integers(1, 8), rng.integers(3, 20)
    page = np.zeros((rows * 9, cols * 6), bool)
    for i in range(rows):
        for j in range(cols): page[i * 9:i * 9 + 7, j * 6:j * 6 + 5] = glyphs[rng.integers(12)]
    page = np.kron(page, np.ones((cell, cell), bool))[:N, :N]
    y, x = rng.integers(0, N - page.shape[0] + 1), rng.integers(0, N - page.shape[1] + 1)
    img[y:y + page.shape[0], x:x + page.shape[1]][page] = palette[rng.integers(len(palette))]
    return img

def blur(img, sigma):
    f = np.fft.fftfreq(N); gain = np.exp(-2 * (math.pi * sigma) ** 2 * (f[:, None] ** 2 + f ** 2))
    return np.fft.ifft2(np.fft.fft2(img, axes=(0, 1)) * gain[..., None], axes=(0, 1)).real.astype(np.float32)

def scene(rng, textured):
    """A colour scene, uint8."""
    textures = [texture(rng) for _ in range(4)]
    palette = palette_of(rng)
    img = dead_leaves(rng, palette, textures, textured)
    for _ in range(rng.choice([0, 0, 1, 2])): img = add_curves(rng, img, palette)
    if rng.random() < .25: img = add_text(rng, img, palette)
    if rng.random() < .5: img = img * np.exp(rng.uniform(.1, .5) * power_noise(rng, 2))[..., None]
    if rng.random() < .5:
        soft = blur(img, OVER * rng.uniform(.3, 1.6))
        share = 1 if rng.random() < .5 else np.clip(.5 + power_noise(rng, 2), 0, 1)[..., None]
        img = img + share * (soft - img)
    img = img.reshape(SIZE, OVER, SIZE, OVER, 3).mean((1, 3))
    return (np.clip(img, 0, 1) * 255 + .5).astype(np.uint8)

def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    textured = float(sys.argv[4]) if len(sys.argv) > 4 else .65
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        part = f'{folder}/{seed}-{i:04}.part.npy'
        np.save(part, scene(np.random.default_rng([seed, i]), textured)); os.replace(part, part.replace('.part', ''))
if __name__ == '__main__': main()
