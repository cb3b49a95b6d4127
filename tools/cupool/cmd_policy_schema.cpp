// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "tools/cupool/commands.h"
#include "tools/cupool/policy_schema.h"

namespace cupool::tool {

void add_policy_schema(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "schema", "Print the JSON schema of policy files, for editors",
                                  {"cupool policy schema > policy.schema.json", "cupool policy schema --table"});
  auto as_table = std::make_shared<bool>(false);
  command->add_flag("--table", *as_table, "The keys as a Markdown table instead");
  command->callback([as_table, &session] {
    session.action = [as_table] {
      fmt::print("{}", *as_table ? policy_key_table() : policy_schema());
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace cupool::tool
