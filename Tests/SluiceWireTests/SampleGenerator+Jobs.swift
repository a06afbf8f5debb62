import SluiceModel

@testable import SluiceWire

extension SampleGenerator {
    mutating func checkpoint() -> Checkpoint {
        func stretches(_ generator: inout SampleGenerator) -> [Checkpoint.Stretch] {
            generator.many(upTo: 3) { generator in
                .init(through: generator.maybe { $0.key() }, version: generator.number())
            }
        }
        return Checkpoint(
            databaseID: id(), epoch: number(), query: id(), rights: id(),
            place: bool()
                ? .reading(stretches(&self))
                : .changes(
                    after: number(), until: maybe { $0.number() }, key: maybe { $0.key() }, read: stretches(&self)))
    }

    mutating func jobKey() -> JobRecord.Key { .init(space: text(), name: data()) }

    mutating func jobWrite() -> JobWrite {
        let condition: JobWrite.Condition? =
            switch below(3) {
            case 0: nil
            case 1: .unchanged(Identity(className: text(), key: key()), version: number())
            default: .unmatched(Identity(className: text(), key: key()), query: text())
            }
        return JobWrite(
            jobKey(),
            pick([.remove, .set(.never, value: data()), .set(.after(number()), value: data())]),
            if: pick([.anything, .absent, .value(data()), .overdue(data())]), condition)
    }

    mutating func question() -> ClientMessage.JobCall.Question {
        switch below(11) {
        case 0: .chunk(query: text(), after: maybe { $0.checkpoint() }, rowCountMax: number())
        case 1: .count(query: text())
        case 2:
            .queue(
                name: text(), query: text(), after: maybe { $0.key() }, rowCountMax: number(),
                withPartitions: bool())
        case 3: .record(jobKey())
        case 4: .records(space: text(), after: maybe { $0.data() })
        case 5: .spaces(prefix: text())
        case 6: .apply(many(upTo: 3) { $0.jobWrite() })
        case 7: .wait(after: number())
        case 8: .list(query: text())
        case 9: .settle(space: text(), Identity(className: text(), key: key()), isRetried: bool())
        default: .rows(query: text(), keys: many(upTo: 4) { $0.key() })
        }
    }
}
