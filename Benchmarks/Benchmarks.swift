import Foundation

/// `make bench`: measures every row of the record table that exists, each beside a floor that is measured in the same
/// run.
@main struct Benchmarks {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.first == ReaderProcess.mode {
                arguments.removeFirst()
                return try Readers(arguments).run()
            }
            if arguments.first == HerdReaders.mode {
                arguments.removeFirst()
                return try HerdReaders(arguments).run()
            }
            try await run(try Options(arguments))
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        let comparison = try Comparison(file: options.jsonFile, isQuick: options.isQuick)
        let workbench = try Workbench(options)
        defer { workbench.removeFolder() }
        var report = Report(options)
        for row in Row.allCases where options.includes(row.rawValue) && (row.isOfServers || options.names(row.rawValue))
        {
            workbench.say("\(row.rawValue): \(row.title)")
            for measurement in try await row.measure(workbench) { report.add(measurement) }
        }
        print(report.table)
        if let comparison { print(comparison.text(report.measurements)) }
        try report.write(to: options.jsonFile)
    }
}

/// The rows of the record table that are measured here.
enum Row: String, CaseIterable {
    case bootstrap = "R1"
    case upload = "R2"
    case propagation = "R3"
    case commits = "R4"
    case views = "R5"
    case liveWindows = "R6"
    case windowUpkeep = "R7"
    case fanOut = "R8"
    case stalledReader = "R9"
    case resume = "R10"
    case herd = "R11"
    case subscriptions = "R12"
    case resultChanges = "R13"
    case localStore = "R14"
    case wireSize = "R15"
    case openings = "R16"
    case backlog = "B1"
    case overlap = "B2"
    case committers = "B3"
    case backups = "B4"
    case backupWaits = "B5"
    case drain = "B6"
    case observers = "O1"
    case observedQueries = "O2"
    case evaluation = "E1"
    case sharedRule = "A1"
    case ownRows = "A2"
    case teams = "A3"
    case revocation = "A4"
    case roleChange = "A5"
    case untouchedRule = "A6"
    case listMerge = "M1"
    case listEdits = "M2"
    case watchedBootstrap = "P1"
    case paging = "P2"
    case countedViews = "C1"
    case totals = "C2"
    case groups = "C3"
    case growing = "C4"
    case consumerReading = "J1"
    case consumerMemory = "J2"
    case consumerRestart = "J3"
    case consumerChanges = "J4"
    case workQueue = "J5"
    case webFanOut = "W1"
    case clusterAddedTime = "S1"
    case clusterOneWriter = "S2"
    case clusterTwoNodes = "S3"
    case clusterLarge = "S4"
    case clusterDatabases = "S5"
    case clusterFollowing = "S6"
    case clusterNews = "S7"
    case clusterImport = "S8"
    case clusterNewNode = "S9"
    case clusterKilledNode = "S10"
    case clusterRestart = "S11"

    /// Whether the row needs no PostgreSQL. The others are measured where they are named.
    var isOfServers: Bool { !rawValue.hasPrefix("S") }

    /// The rows that this program can measure.
    static var available: [Row] {
        #if PostgreSQL
            allCases
        #else
            allCases.filter(\.isOfServers)
        #endif
    }

    var title: String {
        switch self {
        case .bootstrap: "bootstrap into a fresh client store"
        case .upload: "upload until acknowledged as durable"
        case .propagation: "from a write on A to the change event on B"
        case .commits: "one-property commits until B has all"
        case .views: "one commit beside many live views"
        case .liveWindows: "many live windows that overlap"
        case .windowUpkeep: "keeping one window right"
        case .fanOut: "one view's commit to many connections"
        case .webFanOut: "one view's commit to many connections in the JSON form"
        case .stalledReader: "one reader that stalls among many"
        case .resume: "coming back to a subscription"
        case .herd: "many subscribers that ask for the same at once"
        case .subscriptions: "the memory of many subscriptions"
        case .resultChanges: "a change of one row in an observed, sorted result"
        case .localStore: "local inserts and fetches"
        case .wireSize: "bytes on the wire"
        case .backlog: "an offline backlog on one object"
        case .observers: "many observers of one object each"
        case .observedQueries: "many observers of different queries"
        case .overlap: "commits beside bootstraps"
        case .committers: "durable commits of several writers"
        case .backups: "durable commits beside backups"
        case .backupWaits: "waits of writers beside a backup of a gigabyte"
        case .drain: "many stores through a drain"
        case .evaluation: "a predicate on a row"
        case .sharedRule: "many sessions under one rule"
        case .ownRows: "many users who read what is theirs"
        case .teams: "many users with some of many teams each"
        case .revocation: "from a commit that revokes to the last removal queued"
        case .roleChange: "a role over many objects that is lost"
        case .untouchedRule: "a commit that no rule concerns"
        case .listMerge: "a long list that two edit without a network"
        case .listEdits: "an offline backlog on one list"
        case .watchedBootstrap: "watching a bootstrap"
        case .paging: "a job that reads page by page"
        case .countedViews: "one commit beside many counts"
        case .totals: "keeping a window and its total right"
        case .groups: "figures of groups"
        case .growing: "a list that grows"
        case .consumerReading: "reading all results in pages"
        case .consumerMemory: "the memory of reading all results"
        case .consumerRestart: "a consumer that begins again"
        case .consumerChanges: "a consumer of many changes"
        case .workQueue: "a work queue"
        case .clusterAddedTime: "what PostgreSQL adds to a commit"
        case .clusterOneWriter: "one node's commits in groups"
        case .clusterTwoNodes: "two busy nodes in one database"
        case .clusterLarge: "a large transaction beside small ones of another node"
        case .clusterDatabases: "databases side by side"
        case .clusterFollowing: "following what another node commits"
        case .openings: "sessions that open at once"
        case .clusterNews: "from a commit on one node to another"
        case .clusterImport: "an import into a cluster"
        case .clusterNewNode: "a new node over a large database"
        case .clusterKilledNode: "a node that is killed under clients"
        case .clusterRestart: "a PostgreSQL that is killed and started again"
        }
    }

    func measure(_ workbench: Workbench) async throws -> [Measurement] {
        switch self {
        case .bootstrap: try await BootstrapRow(workbench).measure()
        case .upload: try await UploadRow(workbench).measure()
        case .propagation: try await PropagationRow(workbench).measure()
        case .commits: try await CommitsRow(workbench).measure()
        case .views: try ViewsRow(workbench).measure()
        case .liveWindows: try LiveWindowsRow(workbench).measure()
        case .windowUpkeep: try WindowUpkeepRow(workbench).measure()
        case .fanOut: try await FanOutRow(workbench).measure()
        case .webFanOut: try await FanOutRow(workbench).measureJSON()
        case .stalledReader: try await StalledReaderRow(workbench).measure()
        case .resume: try await ResumeRow(workbench).measure()
        case .herd: try await HerdRow(workbench).measure()
        case .subscriptions: try SubscriptionsRow(workbench).measure()
        case .resultChanges: try await ResultChangesRow(workbench).measure()
        case .localStore: try await LocalStoreRow(workbench).measure()
        case .wireSize: try await WireSizeRow(workbench).measure()
        case .openings: try await OpeningsRow(workbench).measure()
        case .backlog: try await BacklogRow(workbench).measure()
        case .observers: try await ObserversRow(workbench).measure()
        case .observedQueries: try await ObservedQueriesRow(workbench).measure()
        case .overlap: try OverlapRow(workbench).measure()
        case .committers: try CommittersRow(workbench).measure()
        case .backups: try await BackupsRow(workbench).measure()
        case .backupWaits: try await BackupWaitsRow(workbench).measure()
        case .drain: try await DrainRow(workbench).measure()
        case .evaluation: try EvaluationRow(workbench).measure()
        case .sharedRule: try SharedRuleRow(workbench).measure()
        case .ownRows: try OwnRowsRow(workbench).measure()
        case .teams: try TeamsRow(workbench).measure()
        case .revocation: try RevocationRow(workbench).measure()
        case .roleChange: try RoleChangeRow(workbench).measure()
        case .untouchedRule: try UntouchedRuleRow(workbench).measure()
        case .listMerge: try await ListMergeRow(workbench).measure()
        case .listEdits: try await ListBacklogRow(workbench).measure()
        case .watchedBootstrap: try await WatchedBootstrapRow(workbench).measure()
        case .paging: try await PagingRow(workbench).measure()
        case .countedViews: try ViewsRow(workbench).measureCounts()
        case .totals: try TotalsRow(workbench).measure()
        case .groups: try GroupsRow(workbench).measure()
        case .growing: try await GrowingRow(workbench).measure()
        case .consumerReading: try await JobsRow(workbench).reading()
        case .consumerChanges: try await JobsRow(workbench).changes()
        case .workQueue: try await JobsRow(workbench).queue()
        case .consumerMemory: try await JobsRow(workbench).memory()
        case .consumerRestart: try await JobsRow(workbench).restart()
        case .clusterAddedTime, .clusterOneWriter, .clusterTwoNodes, .clusterLarge, .clusterDatabases,
            .clusterFollowing, .clusterNews, .clusterImport, .clusterNewNode, .clusterKilledNode, .clusterRestart:
            try await measureCluster(workbench)
        }
    }

    private func measureCluster(_ workbench: Workbench) async throws -> [Measurement] {
        #if PostgreSQL
            let rows = try ClusterRows(workbench)
            switch self {
            case .clusterAddedTime: return try rows.addedTime()
            case .clusterOneWriter: return try rows.oneWriter()
            case .clusterTwoNodes: return try rows.twoNodes()
            case .clusterLarge: return try rows.largeBesideSmall()
            case .clusterDatabases: return try rows.manyDatabases()
            case .clusterFollowing: return try rows.following()
            case .clusterNews: return try await rows.news() + RecoveryRows(workbench).events()
            case .clusterImport: return try rows.importing()
            case .clusterNewNode: return try await RecoveryRows(workbench).newNode()
            case .clusterKilledNode: return try await RecoveryRows(workbench).killedNode()
            case .clusterRestart: return try await RecoveryRows(workbench).restartedServer()
            default: return []
            }
        #else
            throw BenchmarkError("the row \(rawValue) needs a PostgreSQL; run `make bench-cluster`")
        #endif
    }
}
