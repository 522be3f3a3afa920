"""Train a small DRUNet for Gaussian noise of every level from 0 to SIGMA_MAX on the scenes of train_scenes.py.

    python models/train_scenes.py scenes 700
    python models/train_drunet.py drunet.safetensors scenes --channels 3 --hours 1
    python models/train_drunet.py gray.safetensors scenes --channels 1 --hours .5 --start drunet.safetensors

The network begins as the identity: the image passes from `m_head` over the first skip to `m_tail`, and the residual blocks
begin near zero, so that it learns the noise only. The learning rate falls with the clock, and the output is the moving
average of the weights, written every 100 steps: training may be stopped at any time. With `--start`, weights for colour become
weights for gray: the sum over the channels at the input, the mean at the output.
"""
import argparse, concurrent.futures, glob, json, math, os, struct, time
os.environ['OMP_NUM_THREADS'] = '1'          # threads share out the patches of a batch, not the work of an operation
import numpy as np, torch, torch.nn as nn

WIDTHS, BLOCKS, SIGMA_MAX = (32, 48, 64, 96), 2, .2
PATCH, RATE, AVERAGE = 64, 1e-3, .998

def conv(a, b, k=3, stride=1): return nn.Conv2d(a, b, k, stride, k // 2 if stride == 1 else 0, bias=False)

class Block(nn.Module):
    def __init__(s, n):
        super().__init__(); s.res = nn.Sequential(conv(n, n), nn.ReLU(inplace=True), conv(n, n))
    def forward(s, x): return x + s.res(x)

class DRUNet(nn.Module):                     # keys and operations as in deepinv and KAIR
    def __init__(s, channels):
        super().__init__()
        w, s.scales = WIDTHS, len(WIDTHS) - 1
        blocks = lambda n: [Block(n) for _ in range(BLOCKS)]
        s.m_head = conv(channels + 1, w[0])
        for i in range(s.scales):
            setattr(s, f'm_down{i + 1}', nn.Sequential(*blocks(w[i]), conv(w[i], w[i + 1], 2, 2)))
            up = nn.ConvTranspose2d(w[i + 1], w[i], 2, 2, bias=False)
            setattr(s, f'm_up{i + 1}', nn.Sequential(up, *blocks(w[i])))
        s.m_body = nn.Sequential(*blocks(w[-1]))
        s.m_tail = conv(w[0], channels)
    def forward(s, x):
        skips = [s.m_head(x)]
        for i in range(s.scales): skips.append(getattr(s, f'm_down{i + 1}')(skips[-1]))
        y = s.m_body(skips[-1])
        for i in range(s.scales, 0, -1): y = getattr(s, f'm_up{i}')(y + skips[i])
        return s.m_tail(y + skips[0])

def begin_as_identity(net, channels):
    for m in net.modules():
        if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
            fan_in = m.in_channels * (m.kernel_size[0] ** 2 if isinstance(m, nn.Conv2d) else 1)
            nn.init.normal_(m.weight, std=fan_in ** -.5)
        if isinstance(m, Block):
            nn.init.normal_(m.res[0].weight, std=(2 / (9 * m.res[0].in_channels)) ** .5); m.res[2].weight.data.mul_(.2)
    with torch.no_grad():
        net.m_up1[0].weight.mul_(.1); net.m_tail.weight.mul_(.02)
        net.m_head.weight[:channels].mul_(.1); net.m_up1[0].weight[:, :channels].mul_(.1)
        for block in list(net.m_up1)[1:]: block.res[2].weight[:channels].mul_(.1)
        for i in range(channels): net.m_head.weight[i, i, 1, 1] = 1; net.m_tail.weight[i, i, 1, 1] = 1

def load(file):
    with open(file, 'rb') as f: raw = f.read()
    start = 8 + struct.unpack('<Q', raw[:8])[0]
    kinds, tensors = {'F16': '<f2', 'F32': '<f4'}, {}
    for name, about in json.loads(raw[8:start]).items():
        if name == '__metadata__': continue
        a, b = about['data_offsets']
        array = np.frombuffer(raw[start + a:start + b], kinds[about['dtype']]).astype(np.float32).reshape(about['shape'])
        tensors[name] = torch.from_numpy(array)
    return tensors

def save(file, tensors, channels):
    """The state dict as safetensors of 16-bit floats: length of the header, header (JSON), values."""
    about = {'network': 'drunet', 'layout': 'deepinv', 'channels': str(channels), 'sigma_range': f'0 to {SIGMA_MAX}',
             'training': 'synthetic scenes only, see train_drunet.py'}
    header, values = {'__metadata__': about}, b''
    for name, tensor in tensors.items():
        array = tensor.cpu().contiguous().numpy().astype('<f2')
        header[name] = {'dtype': 'F16', 'shape': list(array.shape), 'data_offsets': [len(values), len(values) + array.nbytes]}
        values += array.tobytes()
    text = json.dumps(header).encode(); text += b' ' * (-len(text) % 8)
    with open(file, 'wb') as f: f.write(struct.pack('<Q', len(text)) + text + values)

def start_from(net, file, channels):
    tensors = load(file)
    head, tail = tensors['m_head.weight'], tensors['m_tail.weight']
    if tail.shape[0] == 3 and channels == 1:
        tensors['m_head.weight'] = torch.cat([head[:, :3].sum(1, True), head[:, 3:]], 1)
        tensors['m_tail.weight'] = tail.mean(0, True)
    net.load_state_dict(tensors)

def patches_of(rng, scenes, channels, count, device):
    """Clean patches, turned and with shuffled colours, with noise of one level each; sigma is the last input channel."""
    patches = np.empty((count, PATCH, PATCH, 3), np.float32)
    for i in range(count):
        image = scenes[rng.integers(len(scenes))]; y, x = rng.integers(0, image.shape[0] - PATCH + 1, 2)
        patch = np.rot90(image[y:y + PATCH, x:x + PATCH], rng.integers(4))[..., rng.permutation(3)]
        patches[i] = patch if rng.random() < .5 else patch[:, ::-1]
    clean = torch.from_numpy(patches).to(device).permute(0, 3, 1, 2) / 255
    if channels == 1: clean = (clean * torch.tensor([.299, .587, .114], device=device).view(1, 3, 1, 1)).sum(1, True)
    sigma = torch.rand(count, 1, 1, 1, device=device) ** 1.5 * SIGMA_MAX
    noisy = clean + sigma * torch.randn_like(clean)
    layout = {'memory_format': torch.channels_last}
    return clean, sigma, torch.cat([noisy, sigma.expand(-1, 1, PATCH, PATCH)], 1).contiguous(**layout)

def gradients(net, rng, scenes, a):
    """Noise levels, squared errors and gradients of one thread's patches of a batch."""
    clean, sigma, noisy = patches_of(rng, scenes, a.channels, a.batch // a.threads, a.device)
    with torch.autocast(a.device, torch.bfloat16): denoised = net(noisy)
    squares, sigma = (denoised.float() - clean).square().mean((1, 2, 3)), sigma.flatten()
    loss = (squares / (sigma + .003)).sum() / a.batch            # what remains grows about as sigma: levels count alike
    return sigma, squares.detach(), torch.autograd.grad(loss, list(net.parameters()))

class Progress:
    """Running PSNR by noise level."""
    LEVELS = (.035, .075, .14, SIGMA_MAX)
    def __init__(s): s.squares = [None] * len(s.LEVELS)
    def add(s, sigma, squares):
        for level, error in zip(sigma.tolist(), squares.tolist()):
            i = next(i for i, top in enumerate(s.LEVELS) if level <= top + 1e-6)
            s.squares[i] = error if s.squares[i] is None else .99 * s.squares[i] + .01 * error
    def text(s): return ' '.join(f'<{top}: {-10 * math.log10(e):.2f}' for top, e in zip(s.LEVELS, s.squares) if e)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('output'); parser.add_argument('scenes'); parser.add_argument('--channels', type=int, default=3)
    parser.add_argument('--hours', type=float, default=1); parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--batch', type=int, default=8); parser.add_argument('--device', default='cpu')
    parser.add_argument('--start'); parser.add_argument('--rate', type=float, default=RATE)
    a = parser.parse_args()
    torch.manual_seed(1); streams = [np.random.default_rng([1, i]) for i in range(a.threads)]
    pool = concurrent.futures.ThreadPoolExecutor(a.threads)
    net = DRUNet(a.channels)
    if a.start: start_from(net, a.start, a.channels)
    else: begin_as_identity(net, a.channels)
    net.to(a.device, memory_format=torch.channels_last)
    average = {name: value.clone() for name, value in net.state_dict().items()}
    optimizer = torch.optim.AdamW(net.parameters(), a.rate, betas=(.9, .99), weight_decay=1e-4)
    scenes, known, progress, began, step = [], set(), Progress(), time.time(), 0
    while (share := (time.time() - began) / (a.hours * 3600)) < 1:
        if step % 50 == 0:
            for file in set(glob.glob(f'{a.scenes}/*.npy')) - known:
                if '.part' not in file: known.add(file); scenes.append(np.load(file))
        rate = a.rate * min(1, (step + 1) / 100) * (.5 * (1 + math.cos(math.pi * share)) * .99 + .01)
        for group in optimizer.param_groups: group['lr'] = rate
        parts = list(pool.map(lambda r: gradients(net, r, scenes, a), streams))
        for parameter, *each in zip(net.parameters(), *(part[2] for part in parts)): parameter.grad = sum(each)
        torch.nn.utils.clip_grad_norm_(net.parameters(), .5); optimizer.step()
        keep = min(AVERAGE, (1 + step) / (10 + step))
        for name, value in net.state_dict().items(): average[name].lerp_(value, 1 - keep)
        for sigma, squares, _ in parts: progress.add(sigma, squares)
        if step % 100 == 0:
            print(step, f'{time.time() - began:.0f}s cpu {time.process_time():.0f}s lr {rate:.2e} scenes {len(scenes)} '
                  f'psnr {progress.text()}', flush=True)
            save(a.output, average, a.channels)
        step += 1
    save(a.output, average, a.channels); print('done', step, flush=True)
if __name__ == '__main__': main()
