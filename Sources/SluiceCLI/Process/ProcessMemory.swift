internal import CMalloc
internal import FoundationEssentials

/// How a process that serves takes its memory from the system.
enum ProcessMemory {
    /// Has all threads allocate from a few arenas, of which each keeps what was once the most that it gave out.
    ///
    /// Without this there are eight for each core, and the queue of a database, which runs on one thread after another,
    /// leaves the memory of its largest commits in each of them.
    static func limitArenas() { _ = mallopt(M_ARENA_MAX, Int32(max(2, ProcessInfo.processInfo.activeProcessorCount))) }
}
