internal import Sluice
internal import SluiceExchange
internal import SluiceModel

/// The runs of a program that a job consists of.
struct JobPrograms: Sendable {
    let store: Store
    let program: WorkerProgram
    let guardian: ProgramGuard
    let name: String
    let timeout: Duration
    let upkeep: StoreUpkeep
    /// `EX_TEMPFAIL` of sysexits.h.
    private static let tryAgain: Int32 = 75

    /// Has the program do rows.
    ///
    /// - Parameter id: names the rows.
    /// - Returns: what is written.
    func done(_ rows: [Record], id: String) async throws -> WorkQueue<Record>.Completion {
        try await completion(
            of: rows.flatMap { try RecordRenderer().line($0) }, count: rows.count, id: id, rows.map(\.identity))
    }

    /// Has the program handle a batch of changes.
    ///
    /// - Returns: what is written.
    func handled(_ batch: ConsumerBatch<Record>, id: String) async throws -> WorkQueue<Record>.Completion {
        var input = JSONWriter()
        if batch.isReset {
            input.raw("{\"reset\":true}")
            input.endLine()
        }
        for item in batch.upserts {
            input.raw("{\"upsert\":")
            try RecordRenderer().write(item.value, to: &input)
            input.raw("}")
            input.endLine()
        }
        for gone in batch.removals {
            input.raw("{\"remove\":{\"@id\":")
            input.string(gone.identity.objectID.description)
            input.raw(",\"key\":")
            input.write(gone.key)
            input.raw(",\"reason\":")
            input.string(gone.reason.rawValue)
            input.raw("}}")
            input.endLine()
        }
        return try await completion(of: input.bytes, count: batch.count, id: id, batch.upserts.map(\.identity))
    }

    /// - Parameters:
    ///   - count: how many objects the input has.
    ///   - given: those of them that were there.
    private func completion(
        of input: [UInt8], count: Int, id: String, _ given: [Identity]
    ) async throws -> WorkQueue<Record>.Completion {
        let output = ProgramOutput { [store] in store.schema }
        let exit = try await program.run(
            input, environment: [("SLUICE_JOB", name), ("SLUICE_BATCH", id)], guardedBy: guardian, output.take)
        try Task.checkCancellation()
        let lines = try Self.lines(output, exit, givenCount: count)
        await upkeep.begin(id)
        await upkeep.note(lines.count)
        let identities: [WriteTarget: Identity]
        do {
            identities = try await TargetFetcher(store: store, timeout: timeout).fetch(lines.map(\.request))
        } catch let error as SyncError where error.code == .timedOut || error.code == .unreachable {
            // The rows are not to blame.
            throw JobError.tryAgain("what the program printed could not be written: \(error.message)")
        }
        let writes = ProgramWrites(lines, identities, given: Set(given))
        return { transaction in
            let gone = try writes.perform(in: transaction)
            if !gone.isEmpty { Diagnostics.report("batch \(id): \(ProgramWrites.text(gone: gone))") }
        }
    }

    /// What is to be written after a run of the program.
    ///
    /// A part of an output is never taken for the whole: who keeps it open could print more.
    ///
    /// - Throws: `JobError.Code.tryAgain` when the program has put off what it was given; ``CommandError`` when it has
    ///   failed.
    static func lines(
        _ output: ProgramOutput, _ exit: WorkerProgram.Exit, givenCount: Int
    ) throws -> [ProgramLine] {
        // Where there was too much, the program was ended for that.
        try output.checkSize(givenCount: givenCount)
        let held =
            exit.isOutputHeld
            ? "a child process that it left behind still held its standard output "
                + "\(WorkerProgram.outputGrace.components.seconds) s later" : nil
        let addition = held.map { "; \($0)" } ?? ""
        switch exit.code {
        case 0: break
        case tryAgain: throw JobError.tryAgain("the program has put it off with exit code \(tryAgain)\(addition)")
        default: throw CommandError.failure("the program ended with exit code \(exit.code)\(addition)")
        }
        if let held {
            throw CommandError.failure(
                "the program ended, but \(held): nothing of what it printed was written; have it wait for what it starts, "
                    + "or start that with its output elsewhere, such as '> /dev/null'")
        }
        return try output.lines(givenCount: givenCount)
    }
}
