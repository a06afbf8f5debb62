#include <sqlite3.h>

/// Stops SQLite from counting its memory, which takes a lock of the whole process at every allocation. Does nothing if
/// the process uses SQLite already.
static inline int sluice_sqlite_stop_counting_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Has a connection leave the write-ahead log as it is when it is closed.
static inline int sluice_sqlite_keep_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
