/*
 * The report's style and script, which the build puts into the binary (tools/build-report, from
 * report/): deflated where libdeflate is there to inflate them, else as they are. Pure.
 */
#ifndef ENCODE_REPORT_PAGE_H
#define ENCODE_REPORT_PAGE_H

#include "base/buf.h"

#include <stddef.h>

extern const unsigned char report_style[];
extern const size_t report_style_packed_size;
extern const size_t report_style_size;
extern const char report_style_hash[]; /* as a content security policy names it */

extern const unsigned char report_script[];
extern const size_t report_script_packed_size;
extern const size_t report_script_size;
extern const char report_script_hash[];

/* Each appends the text itself, without its element. -ENOMEM, or 0. */
int report_page_style(struct buf *out);
int report_page_script(struct buf *out);

#endif
