package import SluiceModel
internal import SluiceStorage

/// What a transaction does to a record of a job.
package enum JobChange: Sendable {
    case set(JobRecord)
    case remove(JobRecord.Key)

    var step: JournalStep {
        switch self {
        case .set(let record): .job(record)
        case .remove(let key): .jobRemoval(key)
        }
    }

    /// - Throws: ``ServerError/Code/rejected`` if a record is too large: no server could apply the group.
    func check() throws(ServerError) {
        guard case .set(let record) = self, record.key.name.count + record.value.count > JobRecord.byteCountMax
        else { return }
        throw ServerError(
            .rejected,
            "the record of the job '\(record.key.space)' has \(record.key.name.count + record.value.count) bytes; at most "
                + "\(JobRecord.byteCountMax)")
    }
}
