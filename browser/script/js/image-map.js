// Image maps: areas, and the images that show them.

import { attr, checkVisibility, closest, getRootNode, localName, nodeType, queryAll, queryAllOf } from './dom.js';
import { onForget, page } from './page.js';

let imageMaps = new Map(); // root → name → {areas, image} of its image maps; of one walk or question
onForget(() => { imageMaps = new Map(); });

// imageMap returns the areas that link of the image map with that name and the image
// that shows them: of those that use it the first that is laid out.
function imageMap(root, name) {
  let all = imageMaps.get(root);
  if (!all) {
    imageMaps.set(root, all = new Map());
    const find = (selector) => (root === page ? queryAllOf(page, selector) : nodeType(root) === 11 ? root.querySelectorAll(selector) : []);
    for (const m of find('map[name]')) {
      if (!all.has(attr(m, 'name'))) all.set(attr(m, 'name'), { areas: [...queryAll(m, 'area[href]')], image: null });
    }
    for (const i of all.size ? find('img[usemap^="#"]') : []) {
      const m = all.get(attr(i, 'usemap').slice(1));
      if (m && (!m.image || !checkVisibility(m.image))) m.image = i;
    }
  }
  return all.get(name);
}

// areasOf returns the areas that the image el shows.
export function areasOf(el) {
  const m = imageMap(getRootNode(el), attr(el, 'usemap').slice(1));
  return m && m.image === el ? m.areas : [];
}

// imageOf returns the image in which el is seen, where it is an area of an image map.
export function imageOf(el) {
  const map = localName(el) === 'area' ? closest(el, 'map') : null;
  const m = map && imageMap(getRootNode(el), attr(map, 'name'));
  return m ? m.image : null;
}
