// Elements without markup: text goes in as text.

type Child = Node | string | null | false | undefined;
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) apply(element, name, value);
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false && child !== undefined));
  return element;
}

function apply(element: HTMLElement, name: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
  else if (name === "class") element.className = String(value);
  else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") Object.assign(element, { [name]: value });
  else element.setAttribute(name, value === true ? "" : String(value));
}

export function svg(tag: string, props: Record<string, string | number>, ...children: Node[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

const PATHS: Record<string, string[]> = {
  pan: ["M12 3v18M3 12h18", "M9.5 5.5 12 3l2.5 2.5M9.5 18.5 12 21l2.5-2.5M5.5 9.5 3 12l2.5 2.5M18.5 9.5 21 12l-2.5 2.5"],
  lasso: ["M7.2 16.6C4.7 15.6 3 13.7 3 11.4 3 7.3 7 4.5 12 4.5s9 2.8 9 6.9-4 6.6-9 6.6c-1 0-2-.1-2.9-.3", "M7.5 18.6a1.9 1.9 0 1 0-.1-3.7 1.9 1.9 0 0 0 .1 3.7c.3 1 .1 1.900-.7 2.600"],
  box: ["M4 8V5a1 1 0 0 1 1-1h3M11 4h2M16 4h3a1 1 0 0 1 1 1v3M20 11v2M20 16v3a1 1 0 0 1-1 1h-3M13 20h-2M8 20H5a1 1 0 0 1-1-1v-3M4 13v-2"],
  plus: ["M12 5v14M5 12h14"],
  minus: ["M5 12h14"],
  fit: ["M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4"],
  close: ["M6 6l12 12M18 6 6 18"],
  save: ["M12 4v11M7.500 11 12 15.500 16.500 11M5 19.500h14"],
  picture: ["M4 6a1 1 0 0 1 1-1h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1z", "M4.500 17 9 12.500l3 3 3.500-4 4 4.500M9 9.500h.01"],
  sun: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400"],
  moon: ["M20 14.200A8 8 0 0 1 9.800 4a8 8 0 1 0 10.200 10.200z"],
  help: ["M9.300 9.200a2.800 2.800 0 1 1 4 2.500c-.9.400-1.300 1-1.300 1.900v.4M12 17.200v.01", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"],
  search: ["M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.300 15.300 20 20"],
  table: ["M4 5h16v14H4zM4 9.700h16M4 14.300h16M10 9.700V19"],
  vector: ["M5 19 12 5l7 14M8 13.500h8", "M3.500 17.500h3v3h-3zM17.500 17.500h3v3h-3z"],
  undo: ["M8.500 5 4 9.500 8.500 14M4 9.500h10a5.500 5.500 0 0 1 0 11h-4"],
  redo: ["M15.500 5 20 9.500 15.500 14M20 9.500H10a5.500 5.500 0 0 0 0 11h4"],
  one: ["M4 5h16v14H4z"],
  two: ["M4 5h16v14H4zM12 5v14"],
};

export function icon(name: string): SVGElement {
  const paths = PATHS[name]!.map((d) => svg("path", { d }));
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" }, ...paths);
}

/** A button with an icon; what it does is said to screen readers and on hovering. */
export function iconButton(name: string, label: string, press: (event: MouseEvent) => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: press, ...props }, icon(name));
}

export const calm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
