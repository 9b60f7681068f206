// SPDX-License-Identifier: Apache-2.0
//
// ECharts with the parts that are used, as a component: an option in, events out.

import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { DataZoomComponent, GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { LabelLayout } from 'echarts/features';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { useLayoutEffect, useRef } from 'preact/hooks';

echarts.use([
  CanvasRenderer,
  CustomChart,
  DataZoomComponent,
  GridComponent,
  LabelLayout,
  LegendComponent,
  LineChart,
  SVGRenderer,
  ScatterChart,
  TooltipComponent,
]);

// Options are built as plain objects; ECharts checks them at run time.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Option = any;
export type Handle = echarts.ECharts;

interface Props {
  option: Option;
  height: string;
  label: string;
  onReady?: (chart: Handle) => void;
  onPick?: (index: number | null) => void;
  onPickName?: (name: string | null) => void;
}

/** Data items that stand for a kernel carry its index as `kernel`, others their name as `row`. */
export function Chart({ option, height, label, onReady, onPick, onPickName }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Handle | null>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  const pickName = useRef(onPickName);
  pickName.current = onPickName;
  useLayoutEffect(() => {
    if (!host.current) return undefined;
    const made = echarts.init(host.current, undefined, { renderer: 'canvas' });
    chart.current = made;
    made.on('click', (event) => {
      const data = event.data as { kernel?: number; row?: string } | undefined;
      if (data?.kernel !== undefined) pick.current?.(data.kernel);
      if (data?.row) pickName.current?.(data.row);
    });
    made.getZr().on('click', (event) => {
      if (event.target) return;
      pick.current?.(null);
      pickName.current?.(null);
    });
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(host.current);
    onReady?.(made);
    return () => {
      observer.disconnect();
      made.dispose();
    };
  }, []);
  useLayoutEffect(() => {
    const made = chart.current;
    if (!made) return;
    // The zoom survives a change of filters and colours.
    const zoom = (made.getOption() as { dataZoom?: { start?: number; end?: number }[] } | undefined)?.dataZoom;
    made.setOption(option, { notMerge: true });
    zoom?.forEach((z, i) => {
      if (option.dataZoom?.[i] && (z.start !== 0 || z.end !== 100)) {
        made.dispatchAction({ type: 'dataZoom', dataZoomIndex: i, start: z.start, end: z.end });
      }
    });
  }, [option]);
  return <div ref={host} class="chart" style={{ height }} role="img" aria-label={label} />;
}

export function resetZoom(chart: Handle | null): void {
  const option = chart?.getOption() as { dataZoom?: unknown[] } | undefined;
  option?.dataZoom?.forEach((_, i) =>
    chart?.dispatchAction({ type: 'dataZoom', dataZoomIndex: i, start: 0, end: 100 }),
  );
}

/** The chart as SVG text at a size fit for papers, drawn anew with the vector renderer. */
export function svgOf(option: Option, width: number, height: number): string {
  const chart = echarts.init(null, undefined, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({ ...option, animation: false, dataZoom: [] });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

export function pngOf(chart: Handle, background: string): string {
  return chart.getDataURL({ type: 'png', pixelRatio: 3, backgroundColor: background });
}
