"""Opens report.html in a headless Chromium and checks that it logs no complaint, makes no request and draws every
chart: light, dark and on a phone.

usage: page_test.py PATCHBENCH WRITE_MADE_UP FOLDER MPIRUN..   leaves pages and screenshots in FOLDER"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

from browser import Browser, find_chromium
from page_script import AXES, CHARTS, CONTRAST, CUT_LINKS, MEASURED, RECOMMENDED
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

# Page, section, metric, axis and factor of charts that draw one figure of each point.
HEIGHTS = (
    ('gpu', 'throughput', 'useful_mpx_per_s', 'y', 1),
    ('gpu', 'precision', 'useful_mpx_per_s', 'y', 1),
    ('gpu', 'devices', 'useful_mpx_per_s', 'y', 1),
    ('gpu', 'memory', 'allocated_peak_mib', 'y', 1),
    ('shapes', 'shape', 'allocated_peak_mib', 'y', 1),
    ('shapes', 'shape', 'pixels_per_forward', 'y2', 1e-6),
)


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
        largest, = (jump for series in self.summary_of('shapes')['width_series'] for jump in series['jumps'] if jump['is_largest'])
        before, after = (next(line['point']['settled']['image_width_px'] for line in self.points_of('shapes').values()
                              if line['index'] == largest[key]) for key in ('before', 'after'))
        self.assertRegex(finding, rf'largest jump of memory.*: {before} px .*, {after} px ')

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

    def number(self, value, digits=3):
        """As the page writes it."""
        return self.browser.evaluate(f'pb.number({json.dumps(value)}, {digits})')

    def rows(self, section):
        return self.browser.evaluate(f'[...document.querySelectorAll("#{section} tbody tr:not(.raw)")]'
                                     '.map(row => [...row.cells].map(cell => cell.textContent))')

    def test_cards_say_the_figures_of_their_points(self):
        for name in ('gpu', 'tiny'):
            self.open(name)
            points = self.points_of(name)
            rates = {one['point']: one.get('useful_mpx_per_s') for one in self.summary_of(name)['points']}
            cards = self.browser.evaluate('pb.loadModel().points.slice(0, 8).map(point => [point.label, '
                                          '[...pb.pickCard({best: point}).querySelectorAll(".figure")].map(one => one.textContent)])')
            for label, figures in cards:
                line, summary, interval = points[label], points[label]['summary'], rates[points[label]['index']]
                ends = f'95 %: {self.number(interval["low"])} to {self.number(interval["high"])}' if interval else 'speed'
                said = [f'{self.number(summary["useful_mpx_per_s"])} Mpx/s{ends}', f'{self.number(summary["patches_per_s"])} patches/sspeed',
                        f'{self.number(summary["allocated_peak_mib"])} MiBpeak memory of a rank']
                if not line['point']['weights'].startswith('seed:'):
                    said.append(f'{summary["psnr_noisy_db"]:.1f} → {summary["psnr_denoised_db"]:.1f} dBPSNR before and after')
                if summary['seam_error'] is not None:
                    said.append(f'{self.number(255 * summary["seam_error"], 2)} of 255seams: none visible')
                self.assertEqual(figures, said, label)

    def test_tables_say_the_figures_of_their_points(self):
        self.open('gpu')
        said = {(self.number(one['useful_mpx_per_s']), self.number(one['allocated_peak_mib']), f'{one["psnr_denoised_db"]:.2f}',
                 self.number(one['window_error'], 2)) for one in (line['summary'] for line in self.points_of('gpu').values())}
        shown = {(row[2], *row[4:]) for section in ('precision', 'devices') for row in self.rows(section)}
        self.assertGreater(len(shown), 3)
        self.assertLessEqual(shown, said)
        environment = self.points_environment('gpu')
        rows = self.rows('environment')
        libraries, = (row[1] for row in rows if row[0] == 'libraries')
        for library in environment['libraries']:
            self.assertIn(f'{library["name"]} {library["loaded"] or library["header"] + " (header only)"}', libraries)
        self.assertIn(['0', 'madeup', 'cuda:0 Made-up GPU', '0', '1', self.number(8192), 'GPU-made-up-0'], rows)
        self.open('scaling')
        factors = (('num_ranks', 1), ('pipeline_s', 1e3), ('speedup', 1), ('bound', 1), ('efficiency', 100), ('of_bound', 100),
                   ('simulated_s', 1e3), ('beyond_bound', 100), ('overhead_per_window_s', 1e3), ('between_s', 1e3),
                   ('cpu_per_patch_s', 1e3), ('host_cores', 1), ('host_peak_mib', 1))
        points = self.summary_of('scaling')['scalings'][0]['points']
        self.assertEqual(self.rows('scaling'), [[self.number(factor * one[key]) for key, factor in factors] for one in points])
        self.assertIn(f'4 ranks do {self.number(points[-1]["speedup"])} times the work of 1 in the same time',
                      self.browser.evaluate('document.getElementById("summary").textContent'))
        self.assertEqual(self.browser.evaluate('["VALID", "INVALID"].map(validity => pb.statusOf({status: "ok", raw: {summary: {validity}}}))'),
                         ['ok', 'INVALID'])
        for name, sentence in (('scaling', r'4 ranks do .*? \(INVALID: \S+#0, \S+#2\)\.'), ('gpu', r'bf16 runs .*? \(INVALID: [^,]+, [^,]+\)\.')):
            self.open(name)
            said = self.browser.evaluate("""(() => {
                const model = pb.loadModel();
                for (const file of model.files) for (const point of file.points) point.raw.summary.validity = 'INVALID';
                return pb.findings(model, []);
            })()""")
            self.assertRegex(' '.join(said), sentence)

    def points_environment(self, name):
        return json.loads((self.pages[name].parent / 'results.jsonl').read_text().splitlines()[0])['environment']

    def test_predictions_and_gauges_are_those_of_the_file(self):
        for name, section in (('gpu', 'memory'), ('shapes', 'shape')):
            self.open(name)
            said = {round(line['summary']['predicted_peak_mib'], 6) for line in self.points_of(name).values()}
            drawn = {round(y, 6) for ys in self.drawn(section, '(trace.name === "predicted" ? trace.y : [])') for y in ys if y}
            self.assertGreater(len(drawn), 3)
            self.assertLessEqual(drawn, said)
        self.open('gpu')
        points = self.points_of('gpu')
        for label, [_, [traces, _]] in self.chosen('telemetry')[:4]:
            ranks = points[label]['telemetry']['ranks']
            for trace in traces:
                unit = trace['hovertemplate'].split('} ')[-1].split('<')[0]
                rank = next(one for one in ranks if f'rank {one["rank"]}' == trace['name'])
                gauge, = (key for key, ys in rank['samples'].items() if ys == trace['y'])
                self.assertEqual(unit, {'utilisation_percent': '%', 'power_w': 'W', 'temperature_c': '°C'}.get(gauge, 'MHz'))

    def test_sentences_say_the_figures_of_the_file(self):
        self.open('gpu')
        words = self.browser.evaluate('document.querySelector("#memory details").textContent')
        for memory in self.summary_of('gpu')['batch_memory']:
            base, more = (self.number(memory['fit'][key]) for key in ('base_mib', 'per_window_mib'))
            self.assertIn(f'{base} MiB + {more} MiB a window of the batch; the line reaches the memory of the device', words)
        self.assertEqual(self.browser.evaluate('[0, 5].map(limit => pb.limitOf({limit_mib: 5, points: [{settings: {memory_limit_mib: limit}}]}).name)'),
                         ['memory of the device', 'memory limit of the point'])
        times = self.summary_of('gpu')['batch_times'][0]
        bars = next(trace for trace in self.chosen('fit')[0][1][0][0] if trace.get('name', '').startswith('measured'))['error_y']
        for sample, above, below in zip(times['samples'], bars['array'], bars['arrayminus'], strict=True):
            self.assertAlmostEqual(above, 1e3 * (sample['high_s'] - sample['window_s']))
            self.assertAlmostEqual(below, 1e3 * (sample['window_s'] - sample['low_s']))
        self.browser.evaluate('(select => { select.value = "0"; select.dispatchEvent(new Event("change")); })'
                              '(document.querySelector("#fit select"))')
        self.assertEqual({row[2] for row in self.rows('fit')}, {f'{self.number(100 * times[key]["rms_residual"], 2)} %'
                                                                for key in ('falling', 'rising', 'left_arm') if times[key]})
        said = self.browser.evaluate('document.getElementById("fit").textContent')
        self.assertIn(f'Batch {times["fastest_batch"]} is the fastest', said)
        if times['sufficient_batch'] != times['fastest_batch']:
            self.assertIn(f'batch {times["sufficient_batch"]} is {times["sufficient_words"]}', said)
        self.open('tiny')
        profile = self.summary_of('tiny')['profiles'][0]
        self.assertIn(f'takes {self.browser.evaluate("pb.seconds(%r)" % profile["forward_s"])} on rank {profile["rank"]}',
                      self.browser.evaluate('pb.layerWords(pb.loadModel().files[0].summary.profiles[0])'))
        for label, line in self.points_of('tiny').items():
            error = line['summary']['seam_error']
            said = self.browser.evaluate(f'pb.seamMapWords(pb.loadModel().points.find(point => point.label === {json.dumps(label)}))')
            if error:
                self.assertIn(f'which is {self.number(255 * error)} grey levels of 255', said)
        shown = next(line for line in self.points_of('tiny').values() if line['preview'])
        before, after = (shown['summary'][key] for key in ('psnr_noisy_db', 'psnr_denoised_db'))
        self.assertEqual(self.browser.evaluate('document.querySelector("#images .quiet").textContent'),
                         f'{shown["preview"]["width"]} × {shown["preview"]["height"]} px of the image, pixel by pixel; '
                         f'PSNR of the whole image {before:.2f} → {after:.2f} dB.')
        self.open('engines')
        seconds = [[self.browser.evaluate(f'pb.seconds({line["summary"][key]})') for key in ('call_mean_s', 'call_mean_low_s', 'call_mean_high_s')]
                   for line in self.points_of('engines').values()]
        self.assertLessEqual({f'{mean} [{low}, {high}]' for mean, low, high in seconds}, {row[5] for row in self.rows('engines') if len(row) == 7})

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

    def points_of(self, name):
        """Returns the points of the results behind a page by the names that they have there."""
        lines = map(json.loads, (self.pages[name].parent / 'results.jsonl').read_text().splitlines())
        points = [line for line in lines if line['type'] == 'point']
        labels = [line['label'] for line in points]
        return {line['label'] if labels.count(line['label']) == 1 else f'{line["label"]}#{line["index"]}': line for line in points}

    def chosen(self, section):
        """Returns each choice of a section with its charts: (its text, [(traces, shapes) of each])."""
        return self.browser.evaluate(f'''(() => {{
            const section = document.getElementById('{section}'), select = section.querySelector('select');
            return [...select.options].map(option => {{
              select.value = option.value;
              select.dispatchEvent(new Event('change'));
              return [option.textContent, [...section.querySelectorAll('.plot')].map(
                  plot => [plot.data, plot.layout.shapes ?? []])];
            }});
          }})()''')

    def assert_near(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=1e-9 + 1e-9 * abs(other))

    def test_stages_are_those_of_the_file(self):
        self.open('tiny')
        labels = {line['index']: label for label, line in self.points_of('tiny').items()}
        shares = {labels[one['point']]: one['stage_shares'] for one in self.summary_of('tiny')['points']}
        words = self.browser.evaluate('pb.stageWords')
        traces = self.drawn('stages', '[trace.name, trace.y, trace.x]')
        self.assertEqual({name for name, _, _ in traces}, {words[stage] for one in shares.values() for stage in one})
        for stage, word in words.items():
            for _, names, xs in (trace for trace in traces if trace[0] == word):
                self.assert_near(xs, [100 * shares[name].get(stage, 0) for name in names])

    def test_spans_are_those_of_the_file(self):
        self.open('tiny')
        words = self.browser.evaluate('pb.stageWords')
        points = self.points_of('tiny')
        for label, [[traces, _]] in self.chosen('timeline'):
            said = {(f'rank {rank["rank"]} · {words[stage]}', begin, end - begin)
                    for rank in points[label]['samples']['ranks']
                    for stage, begin, end in zip(*(rank['timeline'][key] for key in ('stage', 'begin_s', 'end_s')))}
            self.assertGreater(len(said), 4)
            self.assertEqual({span for trace in traces for span in zip(trace['y'], trace['base'], trace['x'])}, said)

    def test_repetitions_are_those_of_the_file(self):
        self.open('scaling')
        points = self.points_of('scaling')
        for label, [[traces, _], *_] in self.chosen('telemetry'):
            samples, outliers = points[label]['samples'], points[label]['summary']['outlier_reps']
            self.assertEqual(traces[0]['y'], samples['wall_s'])
            self.assertEqual([i for i, mark in enumerate(traces[0]['marker']['symbol']) if mark == 'diamond'], outliers)
            self.assertEqual(len(traces), 1 + len(samples['ranks']))
            for trace, rank in zip(traces[1:], samples['ranks']):
                self.assert_near(trace['y'], [100 * cpu / wall for cpu, wall in zip(rank['cpu_s'], samples['wall_s'])])

    def test_cells_and_seams_lie_where_the_file_says(self):
        self.open('tiny')
        points = self.points_of('tiny')
        edges = self.browser.evaluate("['carried', 'exchanged', 0, 8].map(halo_px => pb.edgeOfTiles({patch: 32, halo_px}))")
        self.assertEqual(edges, [None, None, 32, 32])
        for label, [[traces, lines]] in self.chosen('seams'):
            region, = points[label]['verification']['seam_map']
            self.assertEqual((region['height'], region['width']), (64, 96))
            cell, columns = region['cell_px'], -(-region['width'] // region['cell_px'])
            self.assertEqual(sum(traces[0]['z'], []), region['errors'])
            self.assertEqual([len(row) for row in traces[0]['z']], [columns] * (len(region['errors']) // columns))
            self.assertEqual(traces[0]['x'], [(i + 0.5) * cell for i in range(columns)])
            self.assertEqual(traces[0]['y'], [(i + 0.5) * cell for i in range(len(region['errors']) // columns)])
            self.assertEqual(traces[0]['zmax'], max(region['errors']) or 1 / 255)
            self.assertEqual([(line['x0'], line['x1'], line['y0'], line['y1']) for line in lines],
                             [(32, 32, 0, 64), (64, 64, 0, 64), (0, 96, 32, 32)])

    def test_scalings_are_those_of_the_file(self):
        self.open('scaling')
        words = self.browser.evaluate(
            'Object.fromEntries([...pb.stageNames, "waiting", "other"].map(name => [name, pb.partWords(name)]))')
        for scaling, (_, charts) in zip(self.summary_of('scaling')['scalings'], self.chosen('scaling'), strict=True):
            points = scaling['points']
            speedups, efficiencies, parts, waits = ([trace['y'] for trace in traces] for traces, _ in charts)
            for key, factor, (ideal, bound, reached), (traces, _) in (
                    ('speedup', 1, speedups, charts[0]), ('efficiency', 100, efficiencies, charts[1])):
                self.assert_near(reached, [factor * one[key] for one in points])
                self.assert_near(ideal, [one['ideal'] if factor == 1 else 100 for one in points])
                self.assert_near(bound, [one['bound' if factor == 1 else 'efficiency_bound'] * factor for one in points])
                bars = traces[2]['error_y']
                for at, one in list(enumerate(points))[1:]:
                    self.assertAlmostEqual(reached[at] + bars['array'][at], factor * one[f'{key}_high'])
                    self.assertAlmostEqual(reached[at] - bars['arrayminus'][at], factor * one[f'{key}_low'])
            for trace, drawn in zip(charts[2][0], parts):
                part, = (name for name, word in words.items() if word == trace['name'])
                self.assert_near(drawn, [100 * one['parts'].get(part, 0) for one in points])
            for drawn, one in zip(waits, points[1:]):
                self.assert_near(drawn, [1e3 * rank['waiting_s'] for rank in one['ranks']])
            self.assertEqual([trace['x'] for trace in charts[3][0]], [[rank['rank'] for rank in one['ranks']] for one in points[1:]])

    def test_curves_and_residuals_are_those_of_the_file(self):
        self.open('gpu')
        for times, (_, [[traces, _]]) in zip(self.summary_of('gpu')['batch_times'], self.chosen('fit'), strict=True):
            measured, = (trace for trace in traces if trace.get('name', '').startswith('measured'))
            self.assert_near(measured['y'], [1e3 * one['window_s'] for one in times['samples']])
            self.assertEqual(measured['x'], [one['batch'] for one in times['samples']])
            curves = sorted((times[key] for key in ('falling', 'rising', 'left_arm') if times[key]), key=str)
            lines = [trace for trace in traces if trace['mode'] == 'lines' and 'fill' not in trace]
            said = [[1e3 * at['window_s'] for at in curve['line']] for curve in curves]
            self.assertCountEqual([[round(y, 9) for y in line['y']] for line in lines],
                                  [[round(y, 9) for y in line] for line in said])
            self.assertCountEqual([[round(y, 9) for y in trace['y']] for trace in traces if trace.get('yaxis') == 'y2'],
                                  [[round(100 * one, 9) for one in curve['residuals']] for curve in curves])
            for trace in (trace for trace in traces if trace.get('fill')):
                ends = [round(1e3 * at[key], 9) for curve in curves for at in curve['line'] for key in ('low_s', 'high_s')
                        if at[key] is not None]
                self.assertLessEqual({round(y, 9) for y in trace['y']}, set(ends))

    def test_bars_and_lines_are_as_high_as_the_file_says(self):
        for name, section, key, axis, factor in HEIGHTS:
            with self.subTest(page=name, section=section, figure=key):
                self.open(name)
                said = {round(factor * (line['summary'][key] or 0), 6) for line in self.points_of(name).values()}
                drawn = [round(y, 6) for trace_axis, ys in self.drawn(section, MEASURED) if trace_axis == axis
                         for y in ys if y is not None]
                self.assertGreater(len(drawn), 1)
                self.assertLessEqual(set(drawn), said)

    def test_bars_of_engines_are_as_high_as_the_file_says(self):
        self.open('engines')
        points = list(self.points_of('engines').values())
        charts = self.browser.evaluate('[...document.querySelectorAll("#engines .plot")]'
                                       '.map(plot => plot.data.map(trace => trace.y))')
        for traces, (key, factor) in zip(charts, (('call_mean_s', 1e3), ('cpu_per_patch_s', 1e3), ('cpu_percent', 1),
                                                  ('engine_peak_mib', 1))):
            self.assertCountEqual([round(y, 6) for ys in traces for y in ys],
                                  [round(factor * line['summary'][key], 6) for line in points])
        for ys, key in zip(charts[4], ('load_s', 'prepare_s', 'first_pass_s')):
            self.assertCountEqual([round(y, 6) for y in ys], [round(line['summary'][key] or 0, 6) for line in points])

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
        measured = sum(one['point'] is not None for one in self.summary_of('tiny')['recommendations'])  # none where 'tiny' became INVALID
        for name, count in (('tiny', measured), ('gpu', 2), ('both', 2 + measured), ('launches', 4)):
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
