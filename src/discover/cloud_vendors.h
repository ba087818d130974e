/*
 * The vendors, one row each: what their metadata service is asked, what must hold of the answers
 * (many services look like another vendor's), and what is taken from them. Pure.
 */
#ifndef DISCOVER_CLOUD_VENDORS_H
#define DISCOVER_CLOUD_VENDORS_H

#include "discover/cloud_answer.h"
#include "model/host.h"

#define CLOUD_VENDOR_COUNT 10
#define CLOUD_PATHS_MAX 7
#define CLOUD_TAKES_MAX 10

/* Given out for a while to who asks with PUT, and sent along with everything else. */
struct cloud_token {
    const char *path;
    const char *asking; /* header with how many seconds it shall last */
    const char *header; /* "Name: ", in front of the token */
};

enum cloud_fact {
    CLOUD_NOTHING,
    CLOUD_HOST_ID,
    CLOUD_ACCOUNT,
    CLOUD_REGION,
    CLOUD_ZONE,
    CLOUD_TYPE
};

/* One fact. Where several rows are about the same, the first that is there counts. */
struct cloud_take {
    enum cloud_fact fact;
    size_t path; /* the answer it is in */
    const char *key;
    bool (*part)(char *word); /* leaves the part that counts; false: none. NULL: all of it */
};

struct cloud_vendor {
    const char *id; /* as Spare Cores calls it */
    const char *base;
    const char *header; /* of every request; NULL: none */
    const struct cloud_token *token;
    const char *paths[CLOUD_PATHS_MAX + 1]; /* end with NULL; the first alone tells the vendor */
    bool (*fits)(const struct cloud_answer *answers);
    struct cloud_take takes[CLOUD_TAKES_MAX + 1]; /* end with CLOUD_NOTHING */
};

/* The first that fits is the one, so the surest come first. */
extern const struct cloud_vendor cloud_vendors[CLOUD_VENDOR_COUNT];

size_t cloud_path_count(const struct cloud_vendor *vendor);

/* Sets what the answers (one per path) say; nothing else of the host changes. */
void cloud_vendor_take(const struct cloud_vendor *vendor, const struct cloud_answer *answers,
                       struct host *host);

#endif
