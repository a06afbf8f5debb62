package import SluiceModel

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
