package import SluiceModel

/// What a job on a server keeps in its database beside the objects: how far a consumer has come, who works at a row of a
/// queue, when a schedule ran last. No client is ever sent any of it.
///
/// Records change by steps of the journal (``JournalStep/job(_:)``), so they commit together with what the job writes,
/// and every server of a cluster has the same.
package struct JobRecord: Hashable, Sendable {
    /// What names a record.
    package struct Key: Hashable, Sendable {
        /// Which job of which kind, such as `consumer/alerts`: records of one space are found together.
        package var space: String
        /// Which record of the job, compared byte by byte.
        package var name: [UInt8]

        package init(space: String, name: [UInt8] = []) {
            self.space = space
            self.name = name
        }
    }

    package var key: Key
    /// When somebody must look at the record; nil for never.
    package var due: Timestamp?
    /// What the job keeps, in a form of its own.
    package var value: [UInt8]

    /// The most bytes of a name and a value together.
    package static let byteCountMax = 1 << 20

    package init(_ key: Key, due: Timestamp? = nil, value: [UInt8] = []) {
        self.key = key
        self.due = due
        self.value = value
    }
}

/// The records of jobs. A change is a step of a group, see ``JobRecord``.
package protocol JobRecords {
    /// A record; nil if there is none. O(log n).
    func job(_ key: JobRecord.Key) throws -> JobRecord?

    /// The records of a space, ascending by name.
    ///
    /// - Parameters:
    ///   - name: the records after this name; nil for those from the first on.
    ///   - countMax: at most how many.
    func jobs(ofSpace space: String, after name: [UInt8]?, countMax: Int) throws -> [JobRecord]

    /// The records of a space that are due at a time, the earliest first.
    ///
    /// - Parameter countMax: at most how many.
    func jobs(ofSpace space: String, dueBy time: Timestamp, countMax: Int) throws -> [JobRecord]

    /// When the next record of a space is due; nil if none ever is.
    func nextDue(ofSpace space: String) throws -> Timestamp?

    /// The number of records of a space. O(n).
    func jobCount(ofSpace space: String) throws -> Int

    /// The spaces that have records and begin with a prefix, ascending. O(spaces · log n).
    func jobSpaces(withPrefix prefix: String) throws -> [String]
}
