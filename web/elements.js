// Makes elements of HTML and SVG. It sets no inline styles, which the policy of the page forbids.

/** Returns an element with attributes and children, which are elements or texts. */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Returns a new HTML element. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Returns a new SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
