package import SluiceModel
package import SluiceStorage

/// What a transaction of the server's own process does.
package struct OwnTransaction<Result> {
    package let result: Result
    package let operations: [ObjectOperation]
    /// What becomes of the records of jobs, in the same transaction.
    package let jobs: [JobChange]

    package init(_ result: Result, _ operations: [ObjectOperation], _ jobs: [JobChange] = []) {
        self.result = result
        self.operations = operations
        self.jobs = jobs
    }
}

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
