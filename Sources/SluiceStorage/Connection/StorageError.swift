public import SluiceModel

/// Why a store could not be opened, read or written.
public struct StorageError: SluiceError, Hashable {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The file is not an SQLite database.
        public static let notADatabase = Code(description: "notADatabase")
        /// The file is a database of another program, or of the other kind of store.
        public static let foreignFile = Code(description: "foreignFile")
        /// The file was written by a newer version of this library.
        public static let newerFormat = Code(description: "newerFormat")
        /// The file's content contradicts itself.
        public static let damaged = Code(description: "damaged")
        /// The file, or one of those beside it, was removed, renamed, replaced or emptied.
        public static let vanished = Code(description: "vanished")
        /// Another process, or another handle of this one, has the store open.
        public static let locked = Code(description: "locked")
        /// A lock inside the database was not released in time.
        public static let busy = Code(description: "busy")
        /// No space is left on the device, or the database reached its size limit.
        public static let full = Code(description: "full")
        /// Reading or writing the file failed.
        public static let io = Code(description: "io")
        /// The process, or the system, has as many files open as it may.
        public static let tooManyFiles = Code(description: "tooManyFiles")
        /// The file or its folder cannot be written.
        public static let readOnly = Code(description: "readOnly")
        /// A write contradicts what is stored: a key that exists already, say.
        public static let constraint = Code(description: "constraint")
        /// A file that is to be made is there already.
        public static let exists = Code(description: "exists")
        /// An object, class or subscription that is not here.
        public static let notFound = Code(description: "notFound")
        /// The log no longer reaches back to the version asked for.
        public static let logTrimmed = Code(description: "logTrimmed")
        /// A call that the state of the store does not allow, such as a write outside a transaction.
        public static let misuse = Code(description: "misuse")
        /// A query was stopped, since it took too much work.
        public static let interrupted = Code(description: "interrupted")
        /// A query was stopped, since nobody waits for it any more.
        public static let cancelled = Code(description: "cancelled")
        /// A statement that SQLite does not take: it is nested too deep, say.
        public static let unsupported = Code(description: "unsupported")
        /// An object that is larger than a message may be, as one may become whose class gets properties with large defaults.
        public static let oversized = Code(description: "oversized")
        /// A record of the journal that cannot follow what a database holds, or cannot be read.
        public static let journal = Code(description: "journal")
        /// The database was detached from its cluster, whose journal of it has ended: another server has the database now.
        public static let detached = Code(description: "detached")
        /// The journal does not answer, and may have taken what it was given all the same.
        public static let outcomeUnknown = Code(description: "outcomeUnknown")
        /// A value beyond what the store can hold.
        public static let tooLarge = Code(description: "tooLarge")
    }

    public let code: Code
    /// What was wrong, with which file, and what to do. Never holds user data.
    public let message: String
    /// SQLite's extended result code, or 0.
    public let sqliteCode: Int32

    /// What is wrong with the content of a damaged file, without the file's name; empty for other errors.
    package let damage: String

    package init(_ code: Code, _ message: String, sqliteCode: Int32 = 0, damage: String = "") {
        self.code = code
        self.message = message
        self.sqliteCode = sqliteCode
        self.damage = damage
    }

    /// The error of a file whose content contradicts itself.
    ///
    /// - Parameters:
    ///   - file: the store, as messages name it.
    ///   - damage: what is wrong.
    ///   - advice: what to do.
    static func damaged(
        _ file: String, _ damage: String, _ advice: String = "restore the file from a backup"
    ) -> StorageError {
        StorageError(.damaged, "\(file) is damaged: \(damage); \(advice)", damage: damage)
    }

    /// Whether the content of the file contradicts itself: reading the same again does not help.
    package var isOfDamage: Bool { code == .damaged || code == .notADatabase }

    /// Whether the file is surely damaged, so that writing to it may do harm. A missing table may also be the fault of
    /// the one statement that names it.
    package var isProofOfDamage: Bool { isOfDamage && sqliteCode != 1 }

    /// Whether nothing can be written at the moment while reading goes on: the disk is full, or may not be written.
    package var isObstacle: Bool { code == .full || code == .readOnly }

    /// Whether a journal that several servers share has not answered. SQLite's own locks have its code.
    package var isSilence: Bool { code == .outcomeUnknown || code == .busy && sqliteCode == 0 }

    /// Whether what is there can be read, and nothing can be written: the disk is full, or does not take it.
    package var preventsWriting: Bool { code == .full || code == .readOnly || code == .io }

    /// Whether trying again does not help before somebody has put the files right.
    package var isLasting: Bool { isOfDamage || code == .vanished }

    public var description: String { "storage: \(message)" }
}
