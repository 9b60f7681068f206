// SPDX-License-Identifier: Apache-2.0
//
// Entry: reads the document that rooftile put into the page and shows it.

import { render } from 'preact';
import { DocumentPage } from './document_page';
import type { PageData } from './types';

const holder = document.getElementById('rooftile-data');
const host = document.getElementById('page');
if (holder && host) {
  render(<DocumentPage page={JSON.parse(holder.textContent ?? 'null') as PageData} />, host);
}
