#include <sqlite3.h>

/// Stops SQLite from counting its memory, which takes a lock of the whole process at every allocation. Does nothing if
/// the process uses SQLite already.
static inline int sluice_sqlite_stop_counting_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
