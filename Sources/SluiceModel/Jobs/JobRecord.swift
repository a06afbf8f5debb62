/// What a job on a server keeps in its database beside the objects: how far a consumer has come, who works at a row of a
/// queue, when a schedule ran last. No client is ever sent any of it.
///
/// Records change by steps of the journal, so they commit together with what the job writes,
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

    /// The bytes of the name and the value together.
    package var byteCount: Int { key.name.count + value.count }

    /// The most bytes of a name and a value together.
    package static let byteCountMax = 1 << 20

    package init(_ key: Key, due: Timestamp? = nil, value: [UInt8] = []) {
        self.key = key
        self.due = due
        self.value = value
    }
}
