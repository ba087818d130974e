#include "encode/host_json.h"

#include "encode/json.h"

#define STORAGE_DECIMALS 3

static void put_fact(struct host *host, const struct host_fact *fact, struct buf *out)
{
    if (fact->type == HOST_TEXT) {
        json_text(text_or_null(host_text(host, fact)), out);
        return;
    }
    double number = *host_number(host, fact);
    if (isfinite(number))
        buf_fixed(out, number, fact->type == HOST_DECIMAL ? STORAGE_DECIMALS : 0);
    else
        buf_text(out, "null");
}

void json_host_members(struct host *host, enum host_names names, struct buf *out)
{
    for (size_t i = 0; i < host_fact_count; i++) {
        const struct host_fact *fact = &host_facts[i];
        buf_text(out, i > 0 ? ",\"" : "\"");
        buf_text(out, names == HOST_NAMES_DEPLOYED ? fact->deployed_key : fact->key);
        buf_text(out, "\":");
        put_fact(host, fact, out);
    }
}
