/// The style that the live page and the report files share. The style covers colors for light mode, dark mode and
/// paper; cards; tables; and the lines, symbols and legends of charts. Each page adds only the styles that no other
/// page uses.
///
/// Colors are chosen so that adjacent ones can be told apart in light mode, in dark mode and in grayscale.
package enum PageLook {
  private static let light = """
    --page: #f4f5f7; --card: #ffffff; --text: #1b1f24; --faint: #57606a; --line: #d5dae0; --focus: #0550ae;
      --accent: #1f4e79; --on-accent: #ffffff; --good: #1a7f37; --bad: #b3261e; --warn: #9a5b00;
      --whole: #1f6f43; --bare: #d9e8dd; --session: #1f4e9c; --link: #8c959f; --plug: #dfe3e8; --marked: #ffe08a; --field: #ffffff;
      --line0: #1f4e9c; --line1: #9a5b00; --line2: #b3261e;
      --s1: #d3e0f5; --s2: #9bbbe8; --s3: #5a8cd2; --s4: #2a5fb0; --s5: #0f2c5c;
    """

  private static let dark = """
    --page: #12151a; --card: #1b2027; --text: #e6e9ed; --faint: #a3acb6; --line: #363d47; --focus: #7ab8ff;
      --accent: #7ab8ff; --on-accent: #0d1117; --good: #56d07c; --bad: #ff8e85; --warn: #f0b54a;
      --whole: #56d07c; --bare: #24382c; --session: #7ab8ff; --link: #8c959f; --plug: #2c333c; --marked: #6b5300; --field: #12151a;
      --line0: #7ab8ff; --line1: #f0b54a; --line2: #ff8e85;
      --s1: #16324f; --s2: #1f5388; --s3: #2f7fc4; --s4: #74b0ea; --s5: #cfe5fb;
    """

  package static let style = """
    :root { color-scheme: light dark;
      \(light)
    }
    @media (prefers-color-scheme: dark) { :root {
      \(dark)
    } }
    @media print { :root { color-scheme: light;
      \(light)
      --page: #ffffff;
    } }
    * { box-sizing: border-box; }
    body { background: var(--page); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
    .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .8rem; min-width: 0; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
    th, td { text-align: left; padding: .2rem .7rem; border-bottom: 1px solid var(--line); }
    pre, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12px; }
    figure { margin: 0; min-width: 0; }
    .chart { width: 100%; height: auto; background: var(--card); }
    .chart text { fill: var(--faint); font-size: 12px; }
    .chart .grid { stroke: var(--line); }
    .chart .line { fill: none; stroke-width: 2; }
    .line0 { stroke: var(--line0); } .line1 { stroke: var(--line1); } .line2 { stroke: var(--line2); }
    .dot.line0 { fill: var(--line0); } .dot.line1 { fill: var(--line1); } .dot.line2 { fill: var(--line2); }
    .chart .break { stroke: var(--warn); stroke-width: 2; stroke-dasharray: 4 3; }
    .chart .error { fill: var(--bad); }
    .legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .3rem 0 0; color: var(--faint); font-size: 12px; }
    .key::before { content: ""; display: inline-block; width: 14px; height: 10px; margin-right: .35rem; border-radius: 2px; background: var(--faint); }
    .key.whole::before { background: var(--whole); }
    .key.bare::before { background: repeating-linear-gradient(135deg, var(--bare) 0 3px, var(--whole) 3px 4px); border: 1px solid var(--whole); }
    .key.error::before { background: var(--bad); clip-path: polygon(50% 0, 100% 100%, 0 100%); }
    .key.warning::before { background: var(--warn); clip-path: polygon(50% 0, 100% 50%, 50% 100%, 0 50%); }
    .key.line0::before { background: var(--line0); height: 3px; vertical-align: middle; }
    .key.line1::before { background: var(--line1); height: 3px; vertical-align: middle; }
    .key.line2::before { background: var(--line2); height: 3px; vertical-align: middle; }

    """
}
