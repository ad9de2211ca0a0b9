// What is drawn of a trace: its SVG, in the units of its axes, and how much of these a pixel is.
(figure, name) => {
  const group = [...figure.querySelectorAll('g.trace')].find(one => one.__data__?.[0]?.trace?.name === name);
  if (!group) return null;
  const trace = group.__data__[0].trace, layout = figure._fullLayout;
  const axis = letter => layout[trace[letter + 'axis'].replace(letter, letter + 'axis')];
  const [x, y] = [axis('x'), axis('y')];
  const at = point => [x.p2l(point.x), y.p2l(point.y)];
  const all = selector => [...group.querySelectorAll(selector)];
  const corners = line => {
    let [x, y] = [0, 0];
    return line.getAttribute('d').match(/[MLHV][^MLHV]*/g).map(step => {
      const numbers = step.slice(1).split(',').map(Number);
      if (step[0] !== 'V') x = numbers.shift();
      if (step[0] !== 'H') y = numbers.shift();
      return at({x, y});
    });
  };
  const moved = one => one.transform.baseVal.consolidate().matrix;
  const length = bar => trace.orientation === 'h'
    ? Math.abs(x.p2l(bar.getBBox().width) - x.p2l(0)) : Math.abs(y.p2l(bar.getBBox().height) - y.p2l(0));
  const pixel = [Math.abs(x.p2l(1) - x.p2l(0)), Math.abs(y.p2l(1) - y.p2l(0))];
  const points = all('.points path.point').map(one => at({x: moved(one).e, y: moved(one).f}));
  const lines = all('.lines path.js-line').filter(one => one.getTotalLength() > 0).map(corners);
  const within = point => [x, y].every((axis, n) => {
    const [low, high] = [Math.min(...axis._rl), Math.max(...axis._rl)];
    return Math.abs(point[n] - (low + high) / 2) < 0.52 * (high - low);
  });
  return {
    pixel, points, lines,
    inside: [...points, ...lines.flat()].every(within),
    filled: all('.fills path.js-fill').some(one => one.getTotalLength() > 0),
    upright: trace.orientation !== 'h',
    bars: all('.points .point > path').map(length).filter(length => length > 0),
    texts: all('text').map(one => one.textContent),
  };
}
