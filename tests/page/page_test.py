"""Opens report.html in a headless Chromium and checks that it logs no complaint, makes no request and draws every
chart: light, dark and on a phone.

usage: page_test.py PATCHBENCH WRITE_MADE_UP FOLDER MPIRUN..   leaves pages and screenshots in FOLDER"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

from browser import Browser, find_chromium
from page_script import AXES, CHARTS, CONTRAST, CUT_LINKS, RECOMMENDED
from pages import Pages

PROGRAM, WRITE_MADE_UP, FOLDER, *MPIRUN = sys.argv[1:]
FOLDER = Path(FOLDER).resolve()
DESKTOP, PHONE = (1280, 900), (360, 740)
WIDTHS = (390, 700, 1000, 1400, 1920)

# The sections that each page must have, in this order. The summary comes first and is not in `pb.sections`.
BATCHES = ['throughput', 'memory', 'fit']
END = ['telemetry', 'environment', 'glossary', 'points']
SECTIONS = {
    'tiny': [*BATCHES, 'roofline', 'timeline', 'stages', 'layers', 'seams', 'images', *END],
    'gpu': [*BATCHES, 'precision', 'devices', 'timeline', 'stages', 'seams', *END],
    'shapes': ['shape', 'timeline', 'stages', 'seams', *END],
    'scaling': ['scaling', 'timeline', 'stages', *END],
    'engines': ['engines', 'roofline', 'timeline', 'stages', 'seams', *END],
    'both': [*BATCHES, 'precision', 'devices', 'roofline', 'timeline', 'stages', 'layers', 'seams', 'images',
             *END],
    'launches': [*BATCHES, 'precision', 'devices', 'timeline', 'stages', 'seams', *END],
    'namesakes': [*BATCHES, 'precision', 'devices', 'timeline', 'stages', 'seams', *END],
}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = Pages(PROGRAM, WRITE_MADE_UP, FOLDER, MPIRUN).make()
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
        said = [variant for group in self.summary_of('gpu')['variants'] if group['by'] == 'dtype' for variant in group['points']]
        self.open('gpu')
        gains = self.browser.evaluate(
            '[...document.querySelectorAll("#precision tbody tr")].map(row => row.cells[3].textContent)')
        self.assertEqual(gains, ['base', *(f'{one["speedup"]:.3g}× [{one["speedup_low"]:.3g}, {one["speedup_high"]:.3g}]'
                                           for one in said)])

    def summary_of(self, name):
        """Returns the line study_summary of the results behind a page."""
        with open(self.pages[name].parent / 'results.jsonl', encoding='utf-8') as lines:
            return next(line for line in map(json.loads, lines) if line['type'] == 'study_summary')

    def drawn(self, section, value):
        """Returns `value(trace)` for every trace of a section's charts."""
        return self.browser.evaluate(f'[...document.querySelectorAll("#{section} .plot")]'
                                     f'.flatMap(plot => plot.data.map(trace => {value}))')

    def test_what_the_page_is_made_of_is_what_the_file_says(self):
        for name in ('tiny', 'gpu', 'shapes', 'scaling'):
            self.open(name)
            self.assertEqual(self.browser.evaluate('JSON.parse(document.getElementById("patchbench-data").textContent)'
                                                   '.files[0].summary'), self.summary_of(name))

    def test_roofs_and_intensities_are_those_of_the_file(self):
        for name, native in (('tiny', 0), ('engines', 2)):
            with self.subTest(page=name):
                self.assert_roofline_is_drawn(name, native)

    def assert_roofline_is_drawn(self, name, native):
        self.open(name)
        roofline, = self.summary_of(name)['rooflines']
        traces = self.drawn('roofline', '[trace.mode, trace.x, trace.y]')
        points = [(x, y) for mode, xs, ys in traces if mode == 'markers' for x, y in zip(xs, ys)]
        fewer = [one for one in roofline['points'] if one['executed_tflops'] < one['tflops']]
        self.assertEqual(len(fewer), native, 'points of the engine native')
        self.assertCountEqual(points, [(one['flop_per_byte'], one['tflops']) for one in roofline['points']] +
                         [(one['executed_flop_per_byte'], one['executed_tflops']) for one in fewer])
        bends = [(xs[1], ys[1]) for mode, xs, ys in traces if mode == 'lines']
        self.assertEqual(bends, [(roof['ridge_flop_per_byte'], roof['tflops'])
                                 for roof in (roofline['matmul'], roofline['conv'])])

    def test_layers_are_those_of_the_file(self):
        self.open('tiny')
        summary = self.summary_of('tiny')
        recommended = {each['point'] for each in summary['recommendations']}  # the page shows such a point first
        profiles = summary['profiles']
        profile = next((each for each in profiles if each['point'] in recommended), profiles[0])
        bars, = self.drawn('layers', '[trace.y, trace.x]')
        self.assertEqual(bars[0], [*(layer['layer'] for layer in profile['layers']), 'other'])
        self.assertEqual(bars[1][:-1], [100 * layer['share'] for layer in profile['layers']])
        rows = self.browser.evaluate('[...document.querySelectorAll("#layers tbody tr")].map(row => row.cells[1].textContent)')
        self.assertEqual(rows, [*(layer['operation'] for layer in profile['layers']), ''])

    def test_lines_of_memory_are_those_of_the_file(self):
        self.open('gpu')
        said = {round(memory['fit']['base_mib'] + memory['fit']['per_window_mib'] * memory['samples'][-1]['batch'], 6)
                for memory in self.summary_of('gpu')['batch_memory']}
        drawn = self.drawn('memory', '(trace.line?.dash === "dash" && trace.hoverinfo === "skip" ? trace.y.at(-1) : null)')
        self.assertEqual({round(end, 6) for end in drawn if end is not None}, said)
        words = self.browser.evaluate('document.querySelector("#memory details").textContent')
        for memory in self.summary_of('gpu')['batch_memory']:
            self.assertIn(f'at batch {memory["predicted_batch"]:,}, which is extrapolated', words)

    def test_bars_of_rates_end_where_the_file_says(self):
        self.open('gpu')
        intervals = {figures['point']: figures['useful_mpx_per_s'] for figures in self.summary_of('gpu')['points']}
        said = {round(one['high'], 6) for one in intervals.values()}
        ends = self.drawn('throughput', '(trace.error_y?.visible ? trace.y.map((y, i) => y + trace.error_y.array[i]) : [])')
        self.assertGreater(sum(map(len, ends)), 8)
        self.assertLessEqual({round(end, 6) for trace in ends for end in trace}, said)

    def test_jumps_are_those_of_the_file(self):
        self.open('shapes')
        jumps = [jump for series in self.summary_of('shapes')['width_series'] for jump in series['jumps']]
        rows = self.browser.evaluate('[...document.querySelectorAll("#shape tbody tr")].map(row => row.cells[4].textContent)')
        self.assertEqual(len(rows), len(jumps))
        for row, jump in zip(rows, jumps):
            self.assertIn(f'(× {jump["peak_ratio"]:.2g})', row)
        self.assertEqual(sum(jump['is_largest'] for jump in jumps), 1)

    def test_files_without_a_summary_have_the_same_page(self):
        """Removes the analysis as in older files; the page then computes it from the points."""
        old = FOLDER / 'old' / 'results.jsonl'
        old.parent.mkdir(exist_ok=True)
        lines = (FOLDER / 'gpu' / 'results.jsonl').read_text().splitlines(keepends=True)
        old.write_text(''.join(line for line in lines if '"type":"study_summary"' not in line))
        subprocess.run([PROGRAM, 'report', old], check=True, capture_output=True, timeout=60)
        seen = '[...document.querySelectorAll(".findings li, #memory details, #precision table")].map(e => e.textContent)'
        self.open('gpu')
        said = self.browser.evaluate(seen)
        self.browser.open((old.parent / 'report.html').as_uri())
        self.assertEqual(self.browser.evaluate(seen), said)
        self.assertEqual(self.browser.complaints(), [])

    def test_a_page_says_when_its_study_was_resumed(self):
        """Its points are then of several launches, with loads of their own."""
        resumed = FOLDER / 'resumed' / 'results.jsonl'
        resumed.parent.mkdir(exist_ok=True)
        lines = (FOLDER / 'gpu' / 'results.jsonl').read_text().splitlines(keepends=True)
        environment = json.loads(lines[0])['environment']
        later = {**environment, 'started_at': '2031-02-03T04:05:06Z', 'command_line': 'patchbench run again.yaml --resume'}
        place = next(i for i, line in enumerate(lines) if '"type":"point"' in line) + 1
        lines.insert(place, json.dumps({'type': 'resume', 'environment': later}, separators=(',', ':')) + '\n')
        resumed.write_text(''.join(lines))
        subprocess.run([PROGRAM, 'report', resumed], check=True, capture_output=True, timeout=60)
        self.browser.open((resumed.parent / 'report.html').as_uri())
        self.assertIn('resumed at 2031-02-03 04:05:06 UTC', self.browser.evaluate('document.body.textContent'))
        self.assertIn('patchbench run again.yaml --resume', self.browser.evaluate('document.body.textContent'))
        self.assertEqual(self.browser.complaints(), [])

    def test_another_point_can_be_chosen(self):
        self.open('tiny')
        for section in ('timeline', 'layers', 'seams', 'telemetry'):
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
            self.assertIn('No difference at all' if '-h20-' in label else 'of full scale', said)

    def test_several_files_stand_side_by_side(self):
        self.open('both')
        text = self.browser.evaluate('document.getElementById("main").innerText')
        for name in ('made-up GPUs', 'tiny'):
            self.assertIn(name, text)
        self.assertEqual(self.browser.evaluate('document.querySelectorAll(".verdict").length'), 2)

    def test_every_axis_has_numbers_and_no_title_is_cut(self):
        for name in SECTIONS:
            for width in (390, 1400):
                self.open(name, (width, 900))
                for chart in self.browser.evaluate(AXES):
                    with self.subTest(page=name, width=width, section=chart['section']):
                        names = ('precision', 'devices', 'timeline', 'stages')  # these may have a single point along one axis
                        self.assertGreaterEqual(min(chart['x'], chart['y']), 1 if chart['section'] in names else 2)
                        self.assertEqual(chart['cut'], [])

    def test_every_link_of_the_navigation_is_seen(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open('both', (width, 900))
                self.assertEqual(self.browser.evaluate(CUT_LINKS), [])
                self.assert_no_overflow()

    def test_one_recommendation_is_said_everywhere(self):
        for name, count in (('tiny', 1), ('gpu', 2), ('both', 3), ('launches', 4)):
            with self.subTest(page=name):
                self.open(name)
                said = self.browser.evaluate(RECOMMENDED)
                self.assertEqual(len(said['found']), count)
                self.assertNotIn('-h0-', ' '.join(said['found']), 'without a halo seams show')
                self.assertEqual(said['cards'], said['found'])
                self.assertEqual(said['findings'], said['found'])
                self.assertEqual(said['stars'], count)

    def test_no_point_is_recommended_where_none_qualifies(self):
        self.open('gpu')  # the UNet point without halo: seams of 0.08 (20 grey levels)
        findings = self.browser.evaluate('[...document.querySelectorAll(".findings li")].map(li => li.textContent)')
        unet = ' '.join(words for words in findings if words.startswith('unet'))
        self.assertIn('no point qualifies: 1 with visible seams', unet)
        self.assertNotIn('★', unet)

    def test_files_are_told_apart_in_every_chart(self):
        for name, files in (('launches', ('gpu', 'slower')), ('namesakes', (f'{FOLDER.name}/gpu', 'other/gpu'))):
            self.open(name)
            for section in ('throughput', 'memory'):
                looks = self.browser.evaluate(
                    f'[...document.querySelectorAll("#{section} .plot")].map(plot => plot.data'
                    '.filter(trace => / halo/.test(trace.name)).map(trace => [trace.name, '
                    '[trace.line?.color, trace.line?.dash, trace.marker?.symbol].join()]))')
                for chart in looks:
                    with self.subTest(page=name, section=section):
                        self.assertEqual(len({look for _, look in chart}), len(chart), chart)
                        for file in files:
                            self.assertTrue(any(trace.startswith(f'{file}, ') for trace, _ in chart), chart)
            text = self.browser.evaluate('document.querySelector("#summary .findings").innerText')
            for file in files:
                self.assertIn(f'{file}: ', text)

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
        self.assertEqual(self.browser.evaluate('pb.lineTrace({points: pb.loadModel().points, keys: []}, "patches_per_s", {metrics: new Map()}).name'),
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
            self.assertEqual((one['ideal'], one['allowed'], one['waiting'], one['rows']),
                             ([1, 2, 4], [1, 2, 4], [2, 4], 3))
            self.assertIn('network', one['parts'])
        self.assert_drawn('scaling')
        self.assert_quiet('scaling')

    def test_engines_are_drawn_with_what_each_costs(self):
        self.open('engines')
        charts = self.browser.evaluate('''[...document.querySelectorAll('#engines .plot')].map(plot => plot.data.map(
            trace => ({name: trace.name, places: trace.y.length, least: Math.min(...trace.y),
                       ends: trace.error_y?.array?.length ?? 0})))''')
        names = [[trace['name'] for trace in chart] for chart in charts]
        self.assertEqual(names, [*[['torch', 'native']] * 4, ['start and load', 'compile, first call', 'first pass']])
        for trace in charts[0]:
            self.assertEqual((trace['places'], trace['ends']), (2, 2), 'a bar a network, with its interval')
        for chart in charts[:4]:
            for trace in chart:
                self.assertGreater(trace['least'], 0)
        rows = self.browser.evaluate('''[...document.querySelectorAll('#engines tbody tr')].map(
            row => [...row.cells].map(cell => cell.textContent))''')
        self.assertEqual([row[1] for row in rows], ['torch', 'native'] * 4, 'two tables')
        for row in rows:
            self.assertNotIn('–', ' '.join(row), 'every figure was measured')
        self.assert_drawn('engines')
        self.assert_quiet('engines')

    def test_what_is_absent_is_named(self):
        self.open('shapes')
        absent = self.browser.evaluate('document.querySelector(".absent").textContent')
        self.assertIn('throughput against batch', absent)


if __name__ == '__main__':
    if find_chromium() is None:
        print('skipped: no Chromium; run tests/page/setup.sh, or name one in PATCHBENCH_CHROMIUM')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
