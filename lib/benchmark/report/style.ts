import { colours } from './lines.js'

/** Colours of a page on white; on black below. Stages of a query and lines of a sweep have the same hues. */
const light = `--paper:#fff;--ink:#16202b;--soft:#5b6876;--rule:#dfe4ea;--grid:#ebeef2;--tint:#f5f7f9;--accent:#0e7c66;--band:#0e7c6629;--on:#fff;
${colours.map((colour, i) => `--c${i + 1}:${colour}`).join(';')};--warn:#8a5a00;--warn-paper:#fff6e0;color-scheme:light`
const dark = `--paper:#12181f;--ink:#e6ebf0;--soft:#9aa7b4;--rule:#2d3742;--grid:#232c36;--tint:#1a222b;--accent:#35c2a3;--band:#35c2a333;--on:#0c1116;
--c1:#35c2a3;--c2:#6ea8ff;--c3:#e6a23c;--c4:#f07ba6;--c5:#a894ff;--c6:#9aa7b4;--warn:#f0c674;--warn-paper:#2c2616;color-scheme:dark`

const layout = `
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1040px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:28px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:20px;margin:44px 0 12px;overflow-wrap:anywhere}
h3{font-size:15px;margin:28px 0 4px}
p{margin:4px 0 12px}
.soft,small,figcaption{color:var(--soft)}
figure{margin:0}
figcaption{font-size:13px;margin:0 0 8px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px;margin:24px 0}
.figures div{border:1px solid var(--rule);border-top:3px solid var(--accent);border-radius:4px;padding:12px 14px}
.figures dt{color:var(--soft);font-size:13px}
.figures dd{margin:0;font-size:26px;font-weight:600;letter-spacing:-.01em}
.figures dd small{font-size:14px;font-weight:400;letter-spacing:0}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 20px;margin:16px 0;font-size:14px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;overflow-wrap:anywhere}
.warnings{list-style:none;margin:16px 0;padding:0}
.warnings li{background:var(--warn-paper);color:var(--warn);border-left:3px solid currentColor;padding:6px 12px;margin:6px 0;font-size:14px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;margin:8px 0}
th,td{padding:6px 8px;text-align:right;vertical-align:top;border-bottom:1px solid var(--rule);white-space:nowrap}
thead th{font-weight:500;color:var(--soft);font-size:13px;white-space:normal;vertical-align:bottom}
tbody th{font-weight:600}
table.times th:first-child{text-align:left}
table.times th small{display:block;font-weight:400;font-size:12px;line-height:1.35;white-space:normal;min-width:180px;max-width:320px}
td.main{font-weight:600}
table.sweep td,table.sweep th{white-space:normal}
th:first-child,td.name{text-align:left}
td.name{white-space:normal;overflow-wrap:anywhere}
table.layers td.name{font-size:13px}
table.layers td:nth-child(n+2){width:1%;white-space:nowrap}
table.layers td.bar-cell{width:30%;vertical-align:middle}
.share{display:block;width:100%;height:8px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:12px 24px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;padding:0;margin:8px 0;font-size:14px}
.legend i{display:inline-block;width:18px;height:3px;background:currentColor;vertical-align:middle;margin-right:8px;border-radius:2px;print-color-adjust:exact}
.legend li::first-line{color:var(--ink)}
details{border-top:1px solid var(--rule);padding:10px 0}
summary{cursor:pointer;font-weight:600;overflow-wrap:anywhere}
footer{margin-top:48px;padding-top:12px;border-top:1px solid var(--rule);font-size:13px;color:var(--soft)}`

const drawings = `
svg.chart{display:block;width:100%;height:auto;font-size:12px;fill:var(--soft)}
svg .name{fill:var(--soft)}
svg .axis{stroke:var(--soft);stroke-opacity:.6}
svg .grid{stroke:var(--grid)}
svg .bar{fill:var(--accent)}
svg .mark line{stroke:var(--ink);stroke-dasharray:3 3}
svg .mark text{fill:var(--ink)}
svg .band{fill:var(--band)}
svg .line{fill:none;stroke:currentColor;stroke-width:1.75;stroke-linejoin:round}
svg.chart{color:var(--accent)}
svg .dot,svg .peak{fill:currentColor}
svg .point{fill:var(--paper);stroke:currentColor;stroke-width:2}
svg .whisker{stroke:currentColor;stroke-opacity:.5;stroke-width:1.5}
svg .enqueue{fill:var(--c6)}
svg .copy-in{fill:var(--c2)}
svg .compute{fill:var(--c1)}
svg .copy-out{fill:var(--c3)}
svg .even rect{fill-opacity:.72}
svg .on{fill:var(--on);font-size:11px}
${colours.map((_, i) => `.series-${i + 1}{color:var(--c${i + 1})}`).join('\n')}`

/** On paper all is told, and in dark ink. */
const printed = `
main{max-width:none;padding:0}
body{font-size:12px}
details::details-content{display:block;content-visibility:visible}
figure,.figures,table.times,tr{break-inside:avoid}
h2,h3,summary{break-after:avoid}`

export const pageStyle = `:root{${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}${layout}${drawings}
@media print{${printed}}`
