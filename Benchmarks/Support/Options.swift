/// The options of the command line: `--runs=N --only=R1,R3 --scale=N --quick --peers --json=FILE`.
struct Options {
    private(set) var runCount = 3
    /// Whether sizes are small, only to see that everything works.
    private(set) var isQuick = false
    /// Whether servers of other kinds run beside this program, which R3, R4 and R8 are compared with.
    private(set) var hasPeers = false
    private(set) var jsonFile = ".build/benchmarks.json"
    private var only: Set<String> = []
    private var scale = 1

    init(_ arguments: [String]) throws {
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            switch (parts[0], parts.dropFirst().first) {
            case ("--runs", let count?):
                guard let number = Int(count), (1...100).contains(number) else {
                    throw BenchmarkError("--runs=\(count): give a number from 1 to 100")
                }
                runCount = number
            case ("--only", let names?):
                only = Set(names.split(separator: ",").map(String.init))
                for name in only where Row(rawValue: name) == nil {
                    let known = Row.available.map(\.rawValue).joined(separator: ", ")
                    throw BenchmarkError("--only=\(names): there is no row \(name); there are \(known)")
                }
            case ("--scale", let factor?):
                guard let number = Int(factor), (1...100).contains(number) else {
                    throw BenchmarkError("--scale=\(factor): give a number from 1 to 100")
                }
                scale = number
            case ("--json", let file?): jsonFile = file
            case ("--quick", nil): isQuick = true
            case ("--peers", nil): hasPeers = true
            default:
                throw BenchmarkError(
                    "'\(argument)' is unknown; use --runs=N --only=R1,R3 --scale=N --quick --peers --json=FILE")
            }
        }
    }

    /// Whether a row is asked for by its name.
    func names(_ row: String) -> Bool { only.contains(row) }

    func includes(_ row: String) -> Bool { only.isEmpty || only.contains(row) }

    /// The size of a measurement: the whole one or a small one in a quick run, times `--scale`.
    func size(_ whole: Int, quick: Int) -> Int { (isQuick ? quick : whole) * scale }
}
