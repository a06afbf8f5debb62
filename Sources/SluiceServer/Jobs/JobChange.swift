internal import SluiceModel
internal import SluiceStorage

/// What a transaction does to a record of a job.
enum JobChange: Sendable {
    case set(JobRecord)
    case remove(JobRecord.Key)

    var step: JournalStep {
        switch self {
        case .set(let record): .job(record)
        case .remove(let key): .jobRemoval(key)
        }
    }
}
