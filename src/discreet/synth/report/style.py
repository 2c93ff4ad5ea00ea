"""The style sheet of a quality report."""

STYLE = """
:root{--page:#f6f7fb;--card:#fff;--text:#1b2033;--soft:#5a6178;--line:#d9dde9;--main:#3457d5;--bar:#b9c7f6;
--mark:#1b2033;--good:#0f7b4f;--good-tint:#e4f5ec;--bad:#b4530a;--bad-tint:#fdf0e1;--one:#0f9d76;--two:#d9770b;
--three:#3457d5;--on:#fff;font:16px/1.5 system-ui,"Liberation Sans",sans-serif;color:var(--text);
background:var(--page)}
@media (prefers-color-scheme:dark){:root{--page:#11141d;--card:#1a1f2c;--text:#e7eaf3;--soft:#a2aac0;
--line:#333b50;--main:#8aa4ff;--bar:#44598f;--mark:#f3f5fb;--good:#6fdba9;--good-tint:#143527;--bad:#ffb870;
--bad-tint:#3d2a14;--one:#43d3a5;--two:#ffab4a;--three:#8aa4ff;--on:#0e1220}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem 1.25rem 4rem;font-variant-numeric:tabular-nums}
h1{font-size:1.9rem;line-height:1.2;margin:.1rem 0 .8rem}
h2{font-size:1.25rem;margin:0 0 .4rem}
h3{font-size:1rem;margin:0 0 .4rem}
p{margin:.3rem 0 .6rem;max-width:46rem}
section{margin:2.2rem 0}
header p{color:var(--soft)}
.over{margin:0;color:var(--soft);font-weight:600}
.verdict{color:var(--text)!important;border-radius:.6rem;font-size:1.1rem;padding:.7rem 1rem;max-width:none}
.verdict.good{background:var(--good-tint);border-left:.3rem solid var(--good)}
.verdict.part{background:var(--bad-tint);border-left:.3rem solid var(--bad)}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;margin:0;min-width:0;
padding:.9rem 1rem}
.cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr))}
.cards p{margin:.1rem 0}
.big{font-size:2.1rem;font-weight:650;line-height:1.2}
.small{color:var(--soft);font-size:.87rem}
.soft{color:var(--soft);font-weight:400}
.two{align-items:start;display:grid;gap:2rem;grid-template-columns:minmax(0,1fr)}
@media (min-width:58rem){.two{grid-template-columns:minmax(0,11fr) minmax(0,10fr)}}
.many{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr))}
.many .card{display:flex;flex-direction:column}
.many svg{margin:auto 0}
figure{margin:0}
figcaption{color:var(--soft);font-size:.87rem;margin-top:.4rem;max-width:34rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;width:100%}
th,td{font-weight:400;padding:.16rem .7rem .16rem 0;text-align:left}
thead th{color:var(--soft);font-size:.85rem}
tbody tr{border-top:1px solid var(--line)}
.number{text-align:right;white-space:nowrap}
td svg{display:block;width:100%;min-width:7rem}
.key{display:inline-flex;align-items:center;gap:.3rem;margin-right:.8rem;color:var(--text)}
.limits{border-left:.3rem solid var(--bad)}
.limits li{margin:.35rem 0;max-width:52rem}
svg{display:block;height:auto;max-width:100%}
.key svg{display:inline}
svg text{fill:var(--soft);font-size:12px}
svg text.value,svg text.axis{fill:var(--text)}
svg .off{fill:var(--text)}
svg .on{fill:var(--on)}
.grid{fill:none;stroke:var(--line)}
.even{fill:none;stroke:var(--good);stroke-width:1.5}
.good{fill:var(--good);fill-opacity:.1}
p.good{fill-opacity:1}
.order1{fill:var(--one)}.order2{fill:var(--two)}.order3{fill:var(--three)}
circle[class^=order]{fill-opacity:.8;stroke:var(--page);stroke-width:.8}
circle.ring{fill-opacity:.35;stroke:var(--bad);stroke-width:2.5}
.followed{fill:var(--bar)}.missed{fill:var(--bad)}
.tick,.whisker{fill:none;stroke:var(--mark);stroke-width:1.5}
.bar{fill:var(--bar)}
.dot{fill:var(--mark)}
.strength{fill:var(--main)}
.self{fill:var(--line);fill-opacity:.5}
.hidden{fill:none;stroke:var(--line);stroke-dasharray:3 3}
"""
