"""report.html in a headless Chromium: no complaint, no request, every chart drawn, in light, dark and on a phone.

usage: page_test.py PATCHBENCH WRITE_MADE_UP FOLDER MPIRUN..   pages and screenshots are left in FOLDER
"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from browser import Browser, find_chromium

PROGRAM, WRITE_MADE_UP, FOLDER, *MPIRUN = sys.argv[1:]
FOLDER = Path(FOLDER).resolve()
HERE = Path(__file__).resolve().parent
DESKTOP, PHONE = (1280, 900), (360, 740)

# What must stand on each page, in this order; summary comes first and has no entry in `pb.sections`.
BATCHES = ['throughput', 'memory', 'fit']
END = ['telemetry', 'environment', 'glossary', 'points']
SECTIONS = {
    'tiny': [*BATCHES, 'roofline', 'timeline', 'stages', 'seams', 'images', *END],
    'gpu': [*BATCHES, 'precision', 'devices', 'timeline', 'stages', 'seams', *END],
    'shapes': ['shape', 'timeline', 'stages', 'seams', *END],
    'scaling': ['scaling', 'timeline', 'stages', *END],
    'both': [*BATCHES, 'precision', 'devices', 'roofline', 'timeline', 'stages', 'seams', 'images', *END],
    'launches': [*BATCHES, 'precision', 'devices', 'timeline', 'stages', 'seams', *END],
}

# For each chart: its section, how many traces have data that can be seen (a stage of a thousandth of the time is no pixel
# wide), how many left a mark on the screen (a line, a point or bar with an area, a picture), and the size of the drawing.
CHARTS = """
[...document.querySelectorAll('.plot')].map(plot => {
  const sizes = (within, marks) => [...within.querySelectorAll(marks)].map(mark => {
    const box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
    const outline = style.stroke === 'none' ? 0 : parseFloat(style.strokeWidth);  // shows what is thinner than a pixel
    return box.width + box.height === 0 ? box : {width: box.width + outline, height: box.height + outline};
  });
  const isDrawn = trace => trace.matches('image') ? trace.getBoundingClientRect().width > 0 :
      sizes(trace, '.js-line, .js-fill').some(box => box.width + box.height > 0) ||
      sizes(trace, 'path.point, .point path').some(box => box.width > 0 && box.height > 0);
  const traces = plot.querySelectorAll('.scatterlayer .trace, .barlayer .trace, .heatmaplayer image');
  const box = plot.querySelector('svg.main-svg')?.getBoundingClientRect() ?? {width: 0, height: 0};
  const pixel = plot._fullLayout?.xaxis ? Math.abs(plot._fullLayout.xaxis.range[1] - plot._fullLayout.xaxis.range[0]) /
      plot._fullLayout.xaxis._length : 0;
  const isThin = trace => trace.type === 'bar' && trace.orientation === 'h' && Math.max(...trace.x) < 2 * pixel;
  const filled = (plot.data ?? []).filter(trace => (trace.z ?? trace.y ?? []).length > 0 && !isThin(trace));
  return {section: plot.closest('section').id, traces: filled.length, drawn: [...traces].filter(isDrawn).length,
          width: box.width, height: box.height, fits: box.width <= plot.getBoundingClientRect().width + 1};
})
"""

# Contrast (WCAG 2.1) of each text against what lies behind it; the lowest, with its text.
CONTRAST = """
(() => {
  const parse = text => { const n = text.match(/[0-9.]+/g).map(Number); return {rgb: n.slice(0, 3), a: n[3] ?? 1}; };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.a === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let worst = {ratio: 99, text: ''};
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join('');
    if (!text || element.closest('script, style, .tag, noscript') || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const ink = light(parse(element.closest('svg') ? style.fill : style.color).rgb);
    const paper = light(behind(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < worst.ratio) worst = {ratio, text: text.slice(0, 60)};
  }
  return worst;
})()
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=200, check=False,
                          cwd=FOLDER, env={**os.environ, 'OMP_NUM_THREADS': '1'})
    if done.returncode != 0:
        raise RuntimeError(f'{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}')


def make_pages():
    """Path of each page by name."""
    results = {name: FOLDER / name / 'results.jsonl' for name in ('tiny', 'scaling', 'gpu', 'shapes')}
    real_ranks = {'tiny': 2, 'scaling': 4}
    for name, file in results.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if name in real_ranks:
            run(*MPIRUN, '-n', real_ranks[name], PROGRAM, 'run', HERE / f'{name}.yaml', '--out', file.parent)
        else:
            run(WRITE_MADE_UP, HERE / f'{name}.yaml', file)
            run(PROGRAM, 'report', file)
    pages = {name: file.parent / 'report.html' for name, file in results.items()}
    pages['both'] = FOLDER / 'both.html'
    run(PROGRAM, 'report', results['gpu'], results['tiny'], '--html', pages['both'])
    slower = FOLDER / 'slower' / 'results.jsonl'
    slower.parent.mkdir(exist_ok=True)
    run(WRITE_MADE_UP, HERE / 'gpu.yaml', slower, 1.2)
    pages['launches'] = FOLDER / 'launches.html'
    run(PROGRAM, 'report', results['gpu'], slower, '--html', pages['launches'])
    return pages


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = make_pages()
        cls.browser = cls.enterClassContext(Browser(find_chromium()))

    def open(self, name, size=DESKTOP, scheme='light'):
        self.browser.resize(*size, mobile=size == PHONE)
        self.browser.prefer(scheme)
        self.browser.open(self.pages[name].as_uri())

    def assert_quiet(self, name):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.requests(), [self.pages[name].as_uri()])

    def assert_drawn(self, name):
        charts = self.browser.evaluate(CHARTS)
        self.assertGreater(len(charts), 0)
        for chart in charts:
            with self.subTest(page=name, section=chart['section']):
                self.assertGreater(chart['traces'], 0)
                self.assertGreaterEqual(chart['drawn'], chart['traces'])
                self.assertGreater(chart['height'], 80)
                self.assertTrue(chart['fits'], chart)
        return charts

    def assert_no_overflow(self):
        wide = self.browser.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')
        self.assertLessEqual(wide[0], wide[1])

    def assert_readable(self):
        worst = self.browser.evaluate(CONTRAST)
        self.assertGreaterEqual(worst['ratio'], 4.5, worst['text'])

    def test_every_page_draws_its_sections_in_light_dark_and_on_a_phone(self):
        for name, sections in SECTIONS.items():
            for look, size, scheme in (('light', DESKTOP, 'light'), ('dark', DESKTOP, 'dark'), ('phone', PHONE, 'light')):
                with self.subTest(page=name, look=look):
                    self.open(name, size, scheme)
                    self.assert_quiet(name)
                    shown = self.browser.evaluate('[...document.querySelectorAll("main > section")].map(s => s.id)')
                    self.assertEqual(shown, ['summary', *sections])
                    self.assert_drawn(name)
                    self.assert_no_overflow()
                    self.assert_readable()
                    self.browser.screenshot(FOLDER / f'{name}-{look}.png')

    def test_light_and_dark_are_the_systems_or_the_readers_choice(self):
        def paper():
            return self.browser.evaluate('getComputedStyle(document.body).backgroundColor')
        self.open('tiny', scheme='light')
        light = paper()
        self.browser.prefer('dark')
        dark = paper()
        self.assertNotEqual(light, dark)
        chosen = []
        for _ in range(3):
            self.browser.evaluate('document.getElementById("theme").click()')
            chosen.append((self.browser.evaluate('document.documentElement.dataset.theme'), paper()))
        self.assertEqual(chosen, [('light', light), ('dark', dark), ('auto', dark)])
        self.assert_quiet('tiny')

    def test_the_raw_line_of_a_point_is_one_click_away(self):
        self.open('tiny')
        raw = json.loads(self.browser.evaluate(
            '(() => { document.querySelector("#points .opener").click();'
            'return document.querySelector("#points tr.raw:not([hidden]) pre").textContent; })()'))
        lines = (FOLDER / 'tiny' / 'results.jsonl').read_text().splitlines()
        first = next(line for line in map(json.loads, lines) if line['type'] == 'point')
        self.assertEqual(raw, first)

    def test_the_slider_uncovers_one_picture_and_covers_the_other(self):
        self.open('tiny')
        self.assertTrue(self.browser.evaluate(
            '[...document.querySelectorAll("#images img")].every(img => img.complete && img.naturalWidth > 0)'))
        cut = 'getComputedStyle(document.querySelector("#images .over")).clipPath'
        before = self.browser.evaluate(cut)
        box = self.browser.evaluate(
            '(() => { const input = document.querySelector("#images input"); input.scrollIntoView({block: "center", behavior: "instant"});'
            'const b = input.getBoundingClientRect(); return [b.x, b.y + b.height / 2, b.width]; })()')
        self.browser.drag((box[0] + box[2] / 2, box[1]), (box[0] + box[2] * 0.2, box[1]))
        value = float(self.browser.evaluate('document.querySelector("#images input").value'))
        self.assertAlmostEqual(value, 20, delta=4)
        self.assertNotEqual(before, self.browser.evaluate(cut))
        self.browser.screenshot(FOLDER / 'slider.png', '#images')

    def test_before_noisy_and_after_can_be_compared_in_pairs(self):
        self.open('tiny')
        pairs = self.browser.evaluate(
            '[...document.querySelectorAll("#images .switch button")].map(button => { button.click();'
            'return [...document.querySelectorAll("#images img")].map(img => img.alt + " " + img.src.length); })')
        self.assertEqual([[name.split()[0] for name in pair] for pair in pairs],
                         [['denoised', 'noisy'], ['denoised', 'original'], ['noisy', 'original']])

    def test_each_jump_of_memory_is_explained_by_the_path(self):
        self.open('shapes')
        rows = self.browser.evaluate(
            '[...document.querySelectorAll("#shape tbody tr")].map(row => row.cells[2].textContent)')
        self.assertIn('split into quadrants → whole', rows)
        self.assertIn('whole → split into quadrants', rows)
        self.assertGreater(len(rows), 8)
        finding = self.browser.evaluate('document.querySelector("#summary .findings").textContent')
        self.assertIn('largest jump of memory', finding)

    def test_curves_are_told_apart_by_what_differs_between_them(self):
        self.open('shapes')
        curves = self.browser.evaluate('document.querySelector("#shape .plot").data.filter(trace => trace.showlegend)'
                                       '.map(trace => [trace.name, trace.line?.color + trace.line?.dash])')
        looks = {name: look for name, look in curves if name != 'predicted'}
        self.assertEqual(sorted(looks), ['dncnn, split', 'drunet, pad', 'drunet, split'])
        self.assertEqual(len(set(looks.values())), 3)

    def test_gains_are_those_that_the_study_says(self):
        with open(self.pages['gpu'].parent / 'results.jsonl', encoding='utf-8') as lines:
            summary = next(line for line in map(json.loads, lines) if line['type'] == 'study_summary')
        said = [variant for group in summary['variants'] if group['by'] == 'dtype' for variant in group['points']]
        self.open('gpu')
        gains = self.browser.evaluate(
            '[...document.querySelectorAll("#precision tbody tr")].map(row => row.cells[3].textContent)')
        self.assertEqual(gains, ['base', *(f'{one["speedup"]:.3g}× [{one["speedup_low"]:.3g}, {one["speedup_high"]:.3g}]'
                                           for one in said)])

    def test_another_point_can_be_chosen(self):
        self.open('tiny')
        for section in ('timeline', 'seams', 'telemetry'):
            with self.subTest(section=section):
                changed = self.browser.evaluate(f'''(() => {{
                    const section = document.getElementById('{section}');
                    const seen = () => JSON.stringify(
                        section.querySelector('.plot').data.map(trace => [trace.x, trace.y, trace.z]));
                    const before = seen(), select = section.querySelector('select');
                    select.value = String((Number(select.value) + select.options.length - 1) % select.options.length);
                    select.dispatchEvent(new Event('change'));
                    return seen() !== before;
                }})()''')
                self.assertTrue(changed)
        self.assert_drawn('tiny')
        self.assert_quiet('tiny')

    def test_the_only_sample_of_a_short_point_is_seen(self):
        self.open('tiny')
        self.assertEqual(self.browser.evaluate('[[null, 99], [1, 2, 3, 4]].map(pb.lineMode)'), ['lines+markers', 'lines'])

    def test_a_sufficient_halo_is_said_to_show_no_seams(self):
        self.open('tiny')
        words = self.browser.evaluate('''(() => {
            const section = document.getElementById('seams'), select = section.querySelector('select');
            return [...select.options].map(option => {
              select.value = option.value;
              select.dispatchEvent(new Event('change'));
              return [option.textContent, section.querySelector('p.quiet').textContent];
            });
          })()''')
        for label, said in words:
            self.assertIn('No difference at all' if '-h20-' in label else 'grey levels', said)

    def test_several_files_stand_side_by_side(self):
        self.open('both')
        text = self.browser.evaluate('document.getElementById("main").innerText')
        for name in ('made-up GPUs', 'tiny'):
            self.assertIn(name, text)
        verdicts = self.browser.evaluate('document.querySelectorAll(".verdict").length')
        self.assertEqual(verdicts, 2)

    def test_two_launches_of_a_study_share_their_charts(self):
        self.open('launches')
        names = self.browser.evaluate('document.querySelector("#throughput .plot").data.map(trace => trace.name)')
        for patch in (128, 256):
            for file in ('gpu', 'slower'):
                self.assertIn(f'{file}, patch {patch}, no halo', names)

    def test_simulated_ranks_are_said_to_be_simulated(self):
        self.open('scaling')
        text = self.browser.evaluate('document.getElementById("summary").innerText')
        self.assertIn('6 of 6 points SIMULATED', text)
        self.assertIn('ran no network', text)
        self.assertIn('6 points: 6 simulated.', text)
        self.assertNotIn('measured', text, 'a clock measures nothing')
        self.assertEqual(self.browser.evaluate(
            '[...new Set([...document.querySelectorAll("#points tr:not(.raw) td:nth-child(2)")].map(cell => cell.textContent))]'),
            ['simulated'])
        self.assertEqual(self.browser.evaluate('pb.lineTrace({points: pb.loadModel().points}, "patches_per_s", {metrics: new Map()}).name'),
                         'simulated')
        self.assertNotIn('★', text, 'a clock is not to be recommended')
        self.assertIn('strong scaling of simulated-dncnn-p32-h8-b1-fp32', text)
        self.assertIn('(SIMULATED): 4 ranks do', text)
        self.assertIn('SIMULATED: no network ran.', self.browser.evaluate('document.getElementById("scaling").innerText'))

    def test_strong_and_weak_scaling_stand_in_four_charts_each(self):
        self.open('scaling')
        seen = self.browser.evaluate('''(() => {
            const section = document.getElementById('scaling'), select = section.querySelector('select');
            return [...select.options].map(option => {
              select.value = option.value;
              select.dispatchEvent(new Event('change'));
              const plots = [...section.querySelectorAll('.plot')].map(plot => plot.data);
              return {name: option.textContent, ideal: plots[0][0].y, allowed: plots[0][1].y,
                      parts: plots[2].map(trace => trace.name), waiting: plots[3].map(trace => trace.y.length),
                      rows: section.querySelectorAll('tbody tr').length};
            });
          })()''')
        self.assertEqual([one['name'].split()[0] for one in seen], ['strong', 'weak'])
        for one in seen:
            self.assertEqual((one['ideal'], one['allowed']), ([1, 2, 4], [1, 2, 4]))
            self.assertEqual((one['waiting'], one['rows']), ([2, 4], 3))
            self.assertIn('network', one['parts'])
        self.assert_drawn('scaling')
        self.assert_quiet('scaling')

    def test_what_is_absent_is_named(self):
        self.open('shapes')
        absent = self.browser.evaluate('document.querySelector(".absent").textContent')
        self.assertIn('throughput against batch', absent)


if __name__ == '__main__':
    if find_chromium() is None:
        print('skipped: no Chromium; run tests/report/setup.sh, or name one in PATCHBENCH_CHROMIUM')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
