internal import FoundationEssentials
internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage

/// `sluice backup`: makes a backup of a server's data folder, and checks one.
struct BackupCommand: Command {
    static let description = CommandDescription(
        "backup", "Make a backup of a server's databases and users while it runs, or check one.",
        arguments: [
            ArgumentDescription(
                "ACTION", "verify, to check a backup; a backup is made without it",
                completion: .choices([Action.verify.rawValue]), isOptional: true),
            ArgumentDescription("FILE", "the backup to check (verify)", completion: .files, isOptional: true),
        ],
        options: [
            .value("data", "DIR", "the folder of the server's databases", completion: .directories),
            .value("to", "FILE", "the backup, which must not be there yet", completion: .files),
            .value("database", "NAME", "only this database; repeat it for several; all by default", isRepeatable: true),
            .value(
                "temporary", "DIR", "where databases are unpacked to be checked; beside FILE by default (verify)",
                completion: .directories),
        ],
        notes: [
            "A server may run meanwhile, or none. The file is a tar of compressed databases with a manifest and the digests of all; it appears under its name only when it is whole. It has all objects and the hashes of passwords, and is for its owner alone.",
            "verify compares the digests, has SQLite check each database, and follows the chain of its log. The exit code is 1 if something is not as it was written.",
        ],
        examples: [
            "sluice backup --data=/var/lib/sluice --to=/backup/sluice.backup",
            "sluice backup verify /backup/sluice.backup",
        ])

    private enum Action: String {
        case verify
    }

    private enum Work {
        case make(data: String, to: String, names: [String]?)
        case verify(String, temporary: String?)
    }

    private let work: Work

    init(_ arguments: ParsedArguments) throws(CommandError) {
        // The parser takes no other action.
        if !arguments.positionals.isEmpty {
            guard arguments.positionals.count == 2 else { throw .usage("FILE is missing: the backup to check") }
            for name in ["data", "to", "database"] where arguments.has(name) {
                throw .usage("--\(name) is for making a backup, and 'verify' checks one")
            }
            work = .verify(arguments.positionals[1], temporary: arguments.value("temporary"))
            return
        }
        guard let data = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the folder of the server's databases")
        }
        guard let file = arguments.value("to") else { throw .usage("--to=FILE is missing: the backup to make") }
        guard !arguments.has("temporary") else { throw .usage("--temporary is for 'sluice backup verify'") }
        let names = arguments.values("database")
        work = .make(data: data, to: file, names: names.isEmpty ? nil : names)
    }

    func run() async throws {
        switch work {
        case .make(let data, let file, let names): try make(data, file, names)
        case .verify(let file, let temporary): try verify(file, temporary)
        }
    }

    private func make(_ data: String, _ file: String, _ names: [String]?) throws {
        let maker = try BackupMaker(data) { Timestamp(Date()) }
        try Signals.interruptible("nothing was left of the backup") { isCancelled in
            report(try maker.make(file, of: names, mayBeEmpty: false, isCancelled: isCancelled), in: file)
        }
    }

    private func report(_ manifest: BackupManifest, in file: String) {
        for member in manifest.members {
            if let database = member.database {
                write("\(database.name)\tversion \(database.version)\tposition \(database.head.position)")
            } else {
                write("users")
            }
        }
        let byteCount = BackupMaker.byteCount(of: file)
        write("made \(DisplayText.harmless(file)), \(byteCount) bytes")
    }

    private func verify(_ file: String, _ temporary: String?) throws {
        let verification = try BackupVerification(file)
        write("made \(verification.manifest.time) by sluice \(verification.manifest.server)")
        try Signals.interruptible("the backup was not checked to its end") { isCancelled in
            try verification.run(in: temporary, isCancelled: isCancelled, report: report)
        }
        write("the backup is whole")
    }

    private func report(_ finding: BackupVerification.Finding) {
        switch finding {
        case .database(let state, let check, let byteCount):
            let log = check.firstPosition.map { "groups \($0) to \(state.head.position)" } ?? "no groups"
            let time = check.acceptedAt.map { ", last of \($0)" } ?? ""
            write(
                "\(state.name)\tversion \(state.version)\tposition \(state.head.position)\t\(check.objectCount) "
                    + "\(GroupedNumber.noun(check.objectCount, "object")) of \(check.classCount) "
                    + "\(GroupedNumber.noun(check.classCount, "class", "classes"))\t\(byteCount) bytes\tlog: \(log)\(time)"
            )
        case .users(let count): write("users\t\(count)")
        }
    }

    private func write(_ line: String) { StandardOutput.shared.write(line: line) }
}
