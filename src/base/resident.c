#include "base/resident.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_AT_ONCE 256
/* Of an entry in /proc/self/pagemap: the page is there; it is of a file, and not a copy. */
#define PAGE_IS_PRESENT (UINT64_C(1) << 63)
#define PAGE_IS_OF_FILE (UINT64_C(1) << 61)
#define PAGE_IS_SWAPPED (UINT64_C(1) << 62)

struct pages {
    int pagemap_fd;
    size_t page_size;
};

/* Whether all that is there is as it is in the file. False also when that cannot be told. */
static bool is_unchanged(const struct pages *pages, const char *begin, size_t page_count)
{
    uint64_t entries[PAGES_AT_ONCE];
    size_t first = (uintptr_t)begin / pages->page_size;

    for (size_t done = 0; done < page_count;) {
        size_t count = page_count - done < PAGES_AT_ONCE ? page_count - done : PAGES_AT_ONCE;
        ssize_t size = (ssize_t)(count * sizeof entries[0]);
        off_t offset = (off_t)((first + done) * sizeof entries[0]);
        if (pread(pages->pagemap_fd, entries, (size_t)size, offset) != size)
            return false;
        for (size_t i = 0; i < count; i++)
            if ((entries[i] & PAGE_IS_SWAPPED) != 0 ||
                ((entries[i] & PAGE_IS_PRESENT) != 0 && (entries[i] & PAGE_IS_OF_FILE) == 0))
                return false;
        done += count;
    }
    return true;
}

/*
 * Where an object begins in memory: its program headers follow its file header, as all linkers put
 * them. NULL: not this one's.
 */
static char *begin_of(const struct pages *pages, const struct dl_phdr_info *object)
{
    /* What dl_iterate_phdr shows is const, the memory behind it belongs to the process. */
    union {
        const ElfW(Phdr) * headers;
        char *memory;
    } at = {.headers = object->dlpi_phdr};

    if ((uintptr_t)at.memory % pages->page_size != sizeof(ElfW(Ehdr)))
        return NULL;
    char *begin = at.memory - sizeof(ElfW(Ehdr));
    return memcmp(begin, ELFMAG, SELFMAG) == 0 && (uintptr_t)begin == object->dlpi_addr ? begin
                                                                                        : NULL;
}

static int give_back_object(struct dl_phdr_info *object, size_t size, void *context)
{
    const struct pages *pages = context;
    char *begin = begin_of(pages, object);

    (void)size;
    for (size_t i = 0; begin != NULL && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0)
            continue;
        char *from = begin + segment->p_vaddr / pages->page_size * pages->page_size;
        char *to = begin + segment->p_vaddr + segment->p_memsz;
        size_t page_count = ((size_t)(to - from) + pages->page_size - 1) / pages->page_size;
        if (is_unchanged(pages, from, page_count))
            (void)madvise(from, page_count * pages->page_size, MADV_DONTNEED);
    }
    return 0;
}

void resident_give_back(void)
{
    struct pages pages = {
        .pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
        .page_size = (size_t)sysconf(_SC_PAGESIZE),
    };

    if (pages.pagemap_fd < 0)
        return;
    (void)dl_iterate_phdr(give_back_object, &pages);
    close(pages.pagemap_fd);
}
